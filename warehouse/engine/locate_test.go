package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/test/env"
	"pnyx/warehouse/engine"
)

func TestLocateReturnsTheConfiguredLibrary(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "libchdb.so")
	if got, err := engine.Locate(engine.LocateOptions{Library: path}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("missing: got %+v, %v, want an error that names %s", got, err, path)
	}
	env.WriteFile(t, path, "")
	got, err := engine.Locate(engine.LocateOptions{Library: path})
	if want := (engine.Program{Library: path}); err != nil || got != want {
		t.Errorf("present: got %+v, %v, want %+v", got, err, want)
	}
}

func TestLocateErrorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	_, err := engine.Locate(engine.LocateOptions{CacheDir: t.TempDir()})
	if !errors.Is(err, engine.ErrNoEngine) || !strings.Contains(err.Error(), "pnyx engine") {
		t.Errorf("got %v, want ErrNoEngine", err)
	}
}

// onPath returns a folder that is first on the PATH.
func onPath(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(os.PathListSeparator)+"/usr/bin"+string(os.PathListSeparator)+"/bin")
	return dir
}

// script writes an executable shell script.
func script(t *testing.T, path, text string) {
	t.Helper()
	env.MustDo(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
}

func TestStaticProgramCannotLoadLibraries(t *testing.T) {
	t.Parallel()
	env.SkipShort(t, "go list")
	for tags, loads := range map[string]bool{"": true, "static": false} {
		t.Run("tags "+tags, func(t *testing.T) {
			t.Parallel()
			list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", tags, "pnyx")
			out, err := list.Output()
			if err != nil {
				t.Fatalf("%s: %v", list, err)
			}
			env.Want(t, loads, strings.Contains(string(out), "github.com/ebitengine/purego"), "purego linked")
		})
	}
}

func TestFindIgnoresFilesOfACrashedEngine(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]string{
		"no folder":        nil,
		"address only":     {"engine.json"},
		"lock only":        {"engine.lock"},
		"lock and address": {"engine.lock", "engine.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, file := range files {
				env.WriteFile(t, filepath.Join(dir, file), `{"ownerPid":1,"tcpAddr":"127.0.0.1:1"}`)
			}
			if got, err := engine.Find(dir); !errors.Is(err, engine.ErrNotRunning) {
				t.Errorf("find: got %+v, %v, want ErrNotRunning", got, err)
			}
		})
	}
}

func TestFindDoesNotBlock(t *testing.T) {
	t.Parallel()
	options := env.EngineOptions(t)
	options.Executable = filepath.Join(t.TempDir(), "hangs")
	script(t, options.Executable, "exec sleep infinity")
	stale := filepath.Join(options.DataDir, "engine.json")
	env.WriteFile(t, stale, `{"ownerPid":1,"tcpAddr":"127.0.0.1:1"}`)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := engine.Start(ctx, options)
		ended <- err
	}()
	env.Until(t, func() error {
		found, err := engine.Find(options.DataDir)
		if !errors.Is(err, engine.ErrInUse) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
			return fmt.Errorf("find during a start: got %+v, %w, want ErrInUse by this process", found, err)
		}
		return nil
	})
	cancel()
	env.WantError(t, context.Canceled, <-ended, "start", "canceled")
	if _, err := engine.Find(options.DataDir); !errors.Is(err, engine.ErrNotRunning) {
		t.Errorf("find after the start: got %v, want ErrNotRunning and a free folder", err)
	}
}

func TestURLsContainTheCredentials(t *testing.T) {
	t.Parallel()
	instance := engine.Instance{
		TCPAddr: "127.0.0.1:9000", User: "pnyx", Password: "a/b@c", AnalystAddr: "127.0.0.1:9100", AnalystUser: "analyst", AnalystPassword: "d:e",
	}
	for _, test := range []struct {
		name, dsn string
		want      clickhouse.Auth
	}{
		{"user", instance.URL("pnyx"), clickhouse.Auth{Database: "pnyx", Username: "pnyx", Password: "a/b@c"}},
		{"analyst", instance.AnalystURL("pnyx"), clickhouse.Auth{Database: "pnyx", Username: "analyst", Password: "d:e"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			env.Want(t, test.want, env.Must(clickhouse.ParseDSN(test.dsn))(t).Auth, test.dsn)
		})
	}
}

func TestLoggedInstanceShowsNoPassword(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	instance := engine.Instance{TCPAddr: "127.0.0.1:9000", Password: "secret", AnalystPassword: "secret"}
	slog.New(slog.NewTextHandler(&out, nil)).Info("ready", slog.Any("instance", instance))
	if got := out.String(); strings.Contains(got, "secret") || !strings.Contains(got, "127.0.0.1:9000") {
		t.Errorf("logged: got %q, want the address and no password", got)
	}
}
