package env_test

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"pnyx/test/env"
)

func TestRestartIsEmptyAtTheOldAddress(t *testing.T) {
	t.Parallel()
	server := env.Redis(t)
	client := env.RedisClient(t, server.URL)
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}

	server.Kill()
	if err := client.Get(t.Context(), "key").Err(); err == nil {
		t.Error("a killed server answers")
	}
	server.Restart()
	if got, err := client.Exists(t.Context(), "key").Result(); err != nil || got != 0 {
		t.Errorf("keys after the restart: got %d, %v, want none", got, err)
	}
}

func TestAPausedServerHangs(t *testing.T) {
	t.Parallel()
	server := env.Redis(t)
	client := env.RedisClient(t, server.URL+"?read_timeout=50ms&max_retries=-1")

	server.Pause()
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Error("a paused server answers")
	}
	server.Resume()
	resumed := env.RedisClient(t, server.URL)
	if err := resumed.Ping(t.Context()).Err(); err != nil {
		t.Errorf("after the pause: %v", err)
	}
}

func TestFlushEmptiesEveryKindOfRedis(t *testing.T) { //nolint:tparallel // the cluster is killed after its subtest
	t.Parallel()
	cluster := env.RedisCluster(t)
	for name, url := range map[string]string{
		"embedded": env.EmbeddedRedis(t), "a server": env.Redis(t).URL, "a cluster": cluster.URL,
	} {
		t.Run(name, func(t *testing.T) {
			client := env.RedisClient(t, url)
			keys := []string{"a", "b", "c", "d", "e", "f", "g"} // of slots all over
			for _, key := range keys {
				if err := client.Set(t.Context(), key, "value of "+key, 0).Err(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if got, err := client.Get(t.Context(), key).Result(); err != nil || got != "value of "+key {
					t.Errorf("%s: %s is %q, %v", name, key, got, err)
				}
			}
			env.FlushRedis(t, client)
			for _, key := range keys {
				if err := client.Get(t.Context(), key).Err(); !errors.Is(err, redis.Nil) {
					t.Errorf("%s: %s after a flush: got %v, want %v", name, key, err, redis.Nil)
				}
			}
		})
	}

	client := env.RedisClient(t, cluster.URL)
	cluster.Kill()
	if err := client.Get(t.Context(), "a").Err(); err == nil {
		t.Error("a killed cluster answers")
	}
}

func TestSentinelsReplaceAPrimaryThatDied(t *testing.T) {
	t.Parallel()
	sentinels := env.RedisSentinels(t)
	client := env.RedisClient(t, sentinels.URL)
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Do(t.Context(), "wait", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	former := sentinels.Primary()
	former.Kill()
	sentinels.AwaitFailover(former)
	if got, err := client.Get(t.Context(), "key").Result(); err != nil || got != "value" {
		t.Errorf("after the failover: got %q, %v, want what was written before", got, err)
	}
}
