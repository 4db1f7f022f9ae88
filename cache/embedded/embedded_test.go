package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"pnyx/cache/embedded"
	"pnyx/test/env"
)

func TestMain(m *testing.M) {
	env.QuietRedis()
	goleak.VerifyTestMain(m, env.RedisLeftover())
}

// start runs the Redis of a data folder until the end of t.
func start(t *testing.T, dataDir string) (*embedded.Redis, *redis.Client, *env.Buffer) {
	t.Helper()
	log := &env.Buffer{}
	r := env.Must(embedded.Start(t.Context(), embedded.Options{DataDir: dataDir, Logger: slog.New(slog.NewTextHandler(log, nil))}))(t)
	t.Cleanup(func() { _ = r.Close() })
	return r, connect(t, r.URL), log
}

func connect(t *testing.T, address string) *redis.Client {
	t.Helper()
	options := env.Must(redis.ParseURL(address))(t)
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func needServer(t *testing.T) {
	t.Helper()
	env.Program(t, embedded.Program, "PNYX_TEST_REQUIRE_REDIS")
}

func TestServerListensOnItsSocketAloneAndHasBounds(t *testing.T) {
	t.Parallel()
	needServer(t)
	dir := t.TempDir()
	r, client, log := start(t, dir)
	for name, want := range map[string]string{
		"port": "0", "save": "", "appendonly": "no", "maxmemory-policy": "volatile-lru", "unixsocketperm": "700", "hz": "2",
	} {
		env.Want(t, want, client.ConfigGet(t.Context(), name).Val()[name], name)
	}
	if limit, err := strconv.ParseUint(client.ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"], 10, 64); err != nil || limit < 64<<20 {
		t.Errorf("maxmemory: got %d, %v, want a part of the machine's", limit, err)
	}
	stranger := connect(t, "unix://"+filepath.Join(dir, embedded.SocketName))
	if err := stranger.Ping(t.Context()).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOAUTH") {
		t.Errorf("without the password: got %v, want NOAUTH", err)
	}
	if !strings.Contains(log.String(), "redis-server ready") || strings.Contains(log.String(), "level=WARN") {
		t.Errorf("got log %s, want that the server is ready and no warning", log)
	}
	env.MustDo(t, r.Close())
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != embedded.SavedName {
		t.Errorf("after Close: got %v, %v, want what is saved alone", left, err)
	}
}

func TestKilledServerIsRestartedEmptyAtItsAddress(t *testing.T) {
	t.Parallel()
	needServer(t)
	_, client, log := start(t, t.TempDir())
	for range 2 {
		before := env.Must(client.InfoMap(t.Context(), "server").Result())(t)
		env.MustDo(t, client.Set(t.Context(), "key", "value", 0).Err())
		pid := env.Must(strconv.Atoi(before["Server"]["process_id"]))(t)
		env.MustDo(t, syscall.Kill(pid, syscall.SIGKILL))
		env.Until(t, func() error {
			if err := client.Get(t.Context(), "key").Err(); !errors.Is(err, redis.Nil) {
				return fmt.Errorf("got %w, want an empty server", err)
			}
			return nil
		})
	}
	env.Want(t, 2, strings.Count(log.String(), "ended unexpectedly"), "lines about an end in", log)
}

func TestClosedServerKeepsItsContentForOneStart(t *testing.T) {
	t.Parallel()
	needServer(t)
	dir := t.TempDir()
	want := func(r *embedded.Redis, client *redis.Client, value string) {
		t.Helper()
		env.Want(t, value, client.Get(t.Context(), "key").Val())
		if _, err := os.Stat(filepath.Join(dir, embedded.SavedName)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("while it runs: got %v, want no saved content", err)
		}
		env.MustDo(t, client.Set(t.Context(), "key", "value", 0).Err())
		env.MustDo(t, r.Close())
	}
	r, client, _ := start(t, dir)
	want(r, client, "")
	r, client, log := start(t, dir)
	if strings.Contains(log.String(), "level=WARN") {
		t.Errorf("got log %s, want no warning", log)
	}
	want(r, client, "value")
	env.WriteFile(t, filepath.Join(dir, embedded.SavedName), "REDIS0009 and what is no content")
	r, client, log = start(t, dir)
	want(r, client, "")
	env.WantPart(t, "starting it empty", log.String(), "log")
}

func TestServersOfTwoFoldersAreSeparate(t *testing.T) {
	t.Parallel()
	needServer(t)
	_, one, _ := start(t, t.TempDir())
	_, two, _ := start(t, t.TempDir())
	env.MustDo(t, one.Set(t.Context(), "key", "value", 0).Err())
	env.WantError(t, redis.Nil, two.Get(t.Context(), "key").Err(), "the key of the other server")
}

func TestSocketOfALongFolderIsInATemporaryOne(t *testing.T) {
	t.Parallel()
	needServer(t)
	dir := filepath.Join(t.TempDir(), strings.Repeat("long folder/", 20))
	env.MustDo(t, os.MkdirAll(dir, 0o700))
	r, client, _ := start(t, dir)
	env.WantError(t, nil, client.Ping(t.Context()).Err())
	socket := client.Options().Addr
	if len(socket) > embedded.MaxSocketPath || strings.HasPrefix(socket, dir) {
		t.Errorf("socket: got %s, want a short path", socket)
	}
	env.MustDo(t, r.Close())
	if _, err := os.Stat(filepath.Dir(socket)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close: got %v for %s, want %v", err, filepath.Dir(socket), os.ErrNotExist)
	}
}

func TestSocketThatAKilledProcessLeftIsReplaced(t *testing.T) {
	t.Parallel()
	needServer(t)
	dir := t.TempDir()
	env.WriteFile(t, filepath.Join(dir, embedded.SocketName), "")
	_, client, _ := start(t, dir)
	env.WantError(t, nil, client.Ping(t.Context()).Err())
}

//nolint:paralleltest // PATH is the process's
func TestUnusableServerIsReplacedByTheOneInTheProcess(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"none":             {"", "executable file not found"},
		"fails":            {"#!/bin/sh\necho out of order; exit 3", "out of order"},
		"does not listen":  {"#!/bin/sh\necho Ready to accept connections; exec sleep 1000", "does not answer"},
		"is not a program": {"nonsense", "exec format error"},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			if test.script != "" {
				env.MustDo(t, os.WriteFile(filepath.Join(bin, embedded.Program), []byte(test.script), 0o700))
			}
			if path := os.Getenv("PATH"); test.script == "" {
				t.Setenv("PATH", bin)
			} else {
				t.Setenv("PATH", bin+":"+path)
			}
			r, client, log := start(t, t.TempDir())
			if err := client.Ping(t.Context()).Err(); err != nil || !strings.HasPrefix(r.URL, "redis://") {
				t.Errorf("got %v from %s, want an answer over TCP", err, r.URL)
			}
			for _, want := range []string{"install redis-server", "REDIS_URL", test.want} {
				env.WantPart(t, want, log.String(), "log", "in it")
			}
		})
	}
}

func TestVersionsThatCheckServersRefusesAreRefused(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]error{
		"": embedded.ErrOldVersion, "new": embedded.ErrOldVersion, "5.0.14": embedded.ErrOldVersion, "6.2.14": embedded.ErrOldVersion,
		"7.0.15": nil, "8.2": nil, "10.0.1": nil,
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			env.WantError(t, want, embedded.CheckVersion(version))
		})
	}
}

func TestRedisOutlivesTheContextOfItsStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := env.Must(embedded.Start(ctx, embedded.Options{DataDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}))(t)
	cancel() // bounds the start only
	if err := connect(t, r.URL).Ping(t.Context()).Err(); err != nil {
		t.Errorf("after the end of the context: %v, want a Redis until Close", err)
	}
	env.WantError(t, nil, r.Close())
}
