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
	r, err := embedded.Start(t.Context(), embedded.Options{DataDir: dataDir, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r, connect(t, r.URL), log
}

func connect(t *testing.T, address string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
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
		if got := client.ConfigGet(t.Context(), name).Val()[name]; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
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
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != embedded.SavedName {
		t.Errorf("after Close: got %v, %v, want what is saved alone", left, err)
	}
}

func TestKilledServerIsRestartedEmptyAtItsAddress(t *testing.T) {
	t.Parallel()
	needServer(t)
	_, client, log := start(t, t.TempDir())
	for range 2 {
		before, err := client.InfoMap(t.Context(), "server").Result()
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(before["Server"]["process_id"])
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		env.Until(t, func() error {
			if err := client.Get(t.Context(), "key").Err(); !errors.Is(err, redis.Nil) {
				return fmt.Errorf("got %w, want an empty server", err)
			}
			return nil
		})
	}
	if got := strings.Count(log.String(), "ended unexpectedly"); got != 2 {
		t.Errorf("got %d lines about an end in %s, want 2", got, log)
	}
}

func TestClosedServerKeepsItsContentForOneStart(t *testing.T) {
	t.Parallel()
	needServer(t)
	dir := t.TempDir()
	want := func(r *embedded.Redis, client *redis.Client, value string) {
		t.Helper()
		if got := client.Get(t.Context(), "key").Val(); got != value {
			t.Errorf("got %q, want %q", got, value)
		}
		if _, err := os.Stat(filepath.Join(dir, embedded.SavedName)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("while it runs: got %v, want no saved content", err)
		}
		if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
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
	if !strings.Contains(log.String(), "starting it empty") {
		t.Errorf("got log %s, want that it starts empty", log)
	}
}

func TestServersOfTwoFoldersAreSeparate(t *testing.T) {
	t.Parallel()
	needServer(t)
	_, one, _ := start(t, t.TempDir())
	_, two, _ := start(t, t.TempDir())
	if err := one.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := two.Get(t.Context(), "key").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("the key of the other server: got %v, want %v", err, redis.Nil)
	}
}

func TestSocketOfALongFolderIsInATemporaryOne(t *testing.T) {
	t.Parallel()
	needServer(t)
	dir := filepath.Join(t.TempDir(), strings.Repeat("long folder/", 20))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r, client, _ := start(t, dir)
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	socket := client.Options().Addr
	if len(socket) > embedded.MaxSocketPath || strings.HasPrefix(socket, dir) {
		t.Errorf("socket: got %s, want a short path", socket)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
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
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
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
				if err := os.WriteFile(filepath.Join(bin, embedded.Program), []byte(test.script), 0o700); err != nil {
					t.Fatal(err)
				}
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
				if !strings.Contains(log.String(), want) {
					t.Errorf("got log %s, want %q in it", log, want)
				}
			}
		})
	}
}

func TestVersionsBeforeTheFirstWithAllCommandsAreRefused(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]error{
		"": embedded.ErrOldVersion, "new": embedded.ErrOldVersion, "5.0.14": embedded.ErrOldVersion, "6.0.16": embedded.ErrOldVersion,
		"6.2.0": nil, "6.10": nil, "7.0.15": nil, "8.2": nil, "10.0.1": nil,
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			if err := embedded.CheckVersion(version); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		})
	}
}

func TestRedisOutlivesTheContextOfItsStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := embedded.Start(ctx, embedded.Options{DataDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	cancel() // bounds the start only
	if err := connect(t, r.URL).Ping(t.Context()).Err(); err != nil {
		t.Errorf("after the end of the context: %v, want a Redis until Close", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
