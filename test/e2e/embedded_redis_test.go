package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"pnyx/test/env"
)

// embeddedRedis connects to the Redis of a running serve.
func embeddedRedis(t *testing.T, dataDir string) redis.UniversalClient {
	t.Helper()
	address := env.ReadFile(t, filepath.Join(dataDir, "redis.url"))
	return env.RedisClient(t, string(address))
}

func TestLongServeOutlivesItsRedisServerAndTakesItAlong(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	env.Program(t, "redis-server", "PNYX_TEST_REQUIRE_REDIS")
	dir := filepath.Join(t.TempDir(), "data")
	first := start(t, dir, nil, "serve", "--demo").ready()
	var want, got []json.RawMessage
	first.Get("/v2/daos?limit=100", &want)
	token := first.clientToken()
	_, page := first.statusOf("/v2/changes", token)
	cursor := regexp.MustCompile(`"nextCursor":"([^"]+)"`).FindStringSubmatch(page)
	if cursor == nil {
		t.Fatalf("got %s, want a cursor", page)
	}

	redis := embeddedRedis(t, dir)
	before := env.Must(redis.InfoMap(t.Context(), "server").Result())(t)
	pid := env.Must(strconv.Atoi(before["Server"]["process_id"]))(t)
	env.MustDo(t, syscall.Kill(pid, syscall.SIGKILL))
	env.Until(t, func() error {
		after, err := redis.InfoMap(t.Context(), "server").Result()
		if err != nil || after["Server"]["run_id"] == before["Server"]["run_id"] {
			return fmt.Errorf("redis has not been restarted: %w", err)
		}
		answer, err := first.Ask("/v2/daos?limit=100", &got)
		if err != nil || !reflect.DeepEqual(got, want) {
			return fmt.Errorf("got %d %w, want the answer of before", answer.Status, err)
		}
		return nil
	})
	env.WantPart(t, "redis-server ready", first.Output.String(), "a line that says which Redis runs")

	first.Signal(syscall.SIGKILL)
	<-first.Exited()
	env.Until(t, func() error {
		if err := redis.Ping(t.Context()).Err(); err == nil {
			return errors.New("the redis-server of a killed serve answers")
		}
		return nil
	})

	moved := filepath.Join(filepath.Dir(dir), "moved")
	env.MustDo(t, os.Rename(dir, moved))
	second := start(t, moved, nil, "serve").ready()
	got = nil
	second.Get("/v2/daos?limit=100", &got)
	env.Want(t, len(want), len(got), "in a moved folder", "DAOs")
	if out := second.Output.String(); !strings.Contains(out, filepath.Join(moved, "redis.sock")) && len(moved) < 90 {
		t.Errorf("got %s, want a socket in the moved folder", out)
	}
	if status, body := second.statusOf("/v2/changes?cursor="+url.QueryEscape(cursor[1]), token); status != http.StatusOK {
		t.Errorf("a cursor of before both restarts: got %d %s, want 200", status, body)
	}
	second.Stop()
	for _, name := range []string{"redis.url", "redis.sock"} {
		if _, err := os.Stat(filepath.Join(moved, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after the end: got %v for %s, want %v", err, name, os.ErrNotExist)
		}
	}
}

func TestServeWithoutARedisServerAnswersToo(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	i := startShared(t, []string{"PATH=" + t.TempDir()}, "serve", "--demo").ready()
	var daos []json.RawMessage
	i.Get("/v2/daos?limit=100", &daos)
	if len(daos) < 10 {
		t.Errorf("got %d DAOs, want the demonstration's dozen", len(daos))
	}
	for _, want := range []string{"Redis runs inside this process", "install redis-server", "REDIS_URL"} {
		env.WantPart(t, want, i.Output.String(), "in it")
	}
}
