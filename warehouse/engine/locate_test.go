package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pnyx/test/env"
	"pnyx/warehouse/engine"
)

func TestLocateReturnsTheConfiguredLibrary(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "libchdb.so")
	if got, err := engine.Locate(t.Context(), engine.LocateOptions{Library: path}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("missing: got %+v, %v, want an error that names %s", got, err, path)
	}
	env.WriteFile(t, path, "")
	got, err := engine.Locate(t.Context(), engine.LocateOptions{Library: path})
	if want := (engine.Program{Library: path}); err != nil || got != want {
		t.Errorf("present: got %+v, %v, want %+v", got, err, want)
	}
}

// The tests below set the PATH and so cannot be parallel.

func TestLocateErrorSaysWhatToDo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := engine.Locate(t.Context(), engine.LocateOptions{CacheDir: t.TempDir()})
	if !errors.Is(err, engine.ErrNoEngine) || !strings.Contains(err.Error(), "pnyx engine") {
		t.Errorf("got %v, want ErrNoEngine", err)
	}
}

func TestLocateRejectsAnOldProgram(t *testing.T) {
	dir := onPath(t)
	script(t, filepath.Join(dir, "clickhouse"), `echo "ClickHouse local version 25.8.2.29 (official build)."`)
	_, err := engine.Locate(t.Context(), engine.LocateOptions{CacheDir: t.TempDir()})
	if !errors.Is(err, engine.ErrNoEngine) || !strings.Contains(err.Error(), "25.8") {
		t.Errorf("got %v, want ErrNoEngine that names the version", err)
	}
}

// TestStartRunsAClickHouseProgram uses a script that behaves like a clickhouse program.
// It runs the library.
func TestStartRunsAClickHouseProgram(t *testing.T) {
	options := env.EngineOptions(t)
	dir := onPath(t)
	program := filepath.Join(dir, "clickhouse")
	script(t, program, fmt.Sprintf(`
		[ "$1" = local ] || exit 9
		[ "$2" = --version ] && echo "ClickHouse local version 26.7.2.1." && exit
		shift
		exec %s engine-child library %s "$@"`, options.Executable, library(t)))

	located, err := engine.Locate(t.Context(), engine.LocateOptions{CacheDir: t.TempDir()})
	if want := (engine.Program{ClickHouse: program}); err != nil || located != want {
		t.Fatalf("locate: got %+v, %v, want %+v", located, err, want)
	}
	options.Program = located
	e := start(t, options)
	table(t, e.Instance())
	wantCount(t, open(t, e.Instance().URL(engine.AnalystDatabase)), "SELECT count() FROM vote", 3)
	stop(t, e)
	if err := answers(t, e.Instance()); err == nil {
		t.Error("program after stop: got an answer, want none")
	}
}

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"ClickHouse local version 26.7.2.1 (official build).": "26.7 <nil>",
		"ClickHouse server version 25.12.1.1.":                "25.12 <nil>",
		"clickhouse 1":                                        `0.0 no version in "clickhouse 1"`,
		"":                                                    `0.0 no version in ""`,
	} {
		t.Run(output, func(t *testing.T) {
			t.Parallel()
			year, month, err := engine.ParseVersion(output)
			if got := fmt.Sprintf("%d.%d %v", year, month, err); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
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
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}
