package cache_test

import (
	"errors"
	"strings"
	"testing"

	"pnyx/cache"
	"pnyx/test/env"
)

// check opens a store and has its servers checked.
func check(t *testing.T, url string) error {
	t.Helper()
	store := env.Store(t, url)
	return store.CheckServers(t.Context())
}

func wantMisfit(t *testing.T, url, word string) {
	t.Helper()
	if err := check(t, url); !errors.Is(err, cache.ErrServerConfig) || !strings.Contains(err.Error(), word) {
		t.Errorf("%s: got %v, want %v with a word on %q", url, err, cache.ErrServerConfig, word)
	}
}

func TestARedisThatEvictsAnyKeyIsNoneForPnyx(t *testing.T) { //nolint:tparallel // its subtests set up one server in turn
	t.Parallel()
	server := env.Redis(t)
	client := env.RedisClient(t, server.URL)
	for _, c := range []struct {
		policy, limit string
		fits          bool
	}{
		{"noeviction", "0", true},
		{"noeviction", "100mb", true},
		{"volatile-lru", "100mb", true},
		{"allkeys-lru", "0", true}, // without a limit nothing is evicted
		{"allkeys-lru", "100mb", false},
		{"allkeys-random", "100mb", false},
	} {
		t.Run(c.policy+" at "+c.limit, func(t *testing.T) {
			env.MustDo(t, errors.Join(client.ConfigSet(t.Context(), "maxmemory-policy", c.policy).Err(),
				client.ConfigSet(t.Context(), "maxmemory", c.limit).Err()))
			if !c.fits {
				wantMisfit(t, server.URL, "use noeviction or volatile-lru")
			} else if err := check(t, server.URL); err != nil {
				t.Error(err)
			}
		})
	}
	host := strings.TrimPrefix(server.URL, "redis://")
	if err := check(t, "redis+cluster://"+host); err == nil {
		t.Error("a server passes for a Cluster")
	}
}

func TestAURLThatNamesAnotherKindOfRedisIsFoundOut(t *testing.T) {
	t.Parallel()
	env.WantError(t, nil, check(t, env.EmbeddedRedis(t)), "the embedded one")
	cluster := env.RedisCluster(t).URL
	env.WantError(t, nil, check(t, cluster), "a Cluster")
	first, _, _ := strings.Cut(strings.TrimPrefix(cluster, "redis+cluster://"), ",")
	wantMisfit(t, "redis://"+first, "redis+cluster://")

	sentinels := env.RedisSentinels(t)
	env.WantError(t, nil, check(t, sentinels.URL), "Sentinels")
	wantMisfit(t, sentinels.Replica().URL, "names a replica")
	first, _, _ = strings.Cut(strings.TrimPrefix(sentinels.URL, "redis+sentinel://"), ",")
	wantMisfit(t, "redis://"+first, "redis+sentinel://")
}

func TestAnOldRedisIsRefused(t *testing.T) {
	t.Parallel()
	for version, fits := range map[string]bool{"6.2.14": false, "7.0.0": true, "8.8.0": true, "": true, "unknown": true} {
		err := cache.CheckServer(map[string]string{"redis_version": version, "redis_mode": "standalone"}, false)
		if (err == nil) != fits || err != nil && !strings.Contains(err.Error(), "at least 7.0") {
			t.Errorf("Redis %q: got %v, want it to fit: %t", version, err, fits)
		}
	}
}
