package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pnyx/config"
	"pnyx/test/env"
	"pnyx/warehouse/engine"
)

// lockedFolder returns settings with a data folder whose engine process 4711 is starting or stopping.
func lockedFolder(t *testing.T) config.Config {
	t.Helper()
	dir := t.TempDir()
	lock := env.Must(os.Create(filepath.Join(dir, "engine.lock")))(t)
	t.Cleanup(func() { _ = lock.Close() })
	fmt.Fprintln(lock, `{"pid":4711,"since":"2026-01-01T00:00:00Z"}`)
	env.MustDo(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	return config.Config{Warehouse: config.Warehouse{Data: dir}}
}

func TestCommandsWaitForAProcessThatStartsItsEngineAndNameIt(t *testing.T) {
	t.Parallel()
	for name, reached := range map[string]reach{"import": reachEngine, "sql": reachExisting} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := lockedFolder(t)
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				time.AfterFunc(25*time.Second, func() {
					address := []byte(`{"tcpAddr":"127.0.0.1:1"}`)
					file := filepath.Join(cfg.Warehouse.Data, "new.json")
					env.WantError(t, nil, errors.Join(os.WriteFile(file, address, 0o600),
						os.Rename(file, filepath.Join(cfg.Warehouse.Data, "engine.json"))))
				})
				got := env.Must(reached(t.Context(), &session{cfg: cfg, undo: &cleanups{}, logger: slog.New(slog.NewTextHandler(&out, nil))}))(t)
				env.Want(t, "127.0.0.1:1", got.TCPAddr, "the engine that answers after 25 s")
				if lines := strings.Count(out.String(), "process 4711"); lines != 3 {
					t.Errorf("got %d lines, want one at once and one every 10 s that name process 4711:\n%s", lines, &out)
				}
			})
		})
	}
}

func TestWaitForAnotherProcessHasALimit(t *testing.T) {
	t.Parallel()
	cfg := lockedFolder(t)
	synctest.Test(t, func(t *testing.T) {
		_, err := reachEngine(t.Context(), &session{cfg: cfg, logger: slog.New(slog.DiscardHandler)})
		if !errors.Is(err, engine.ErrInUse) || !strings.Contains(err.Error(), reachTimeout.String()) {
			t.Errorf("got %v, want ErrInUse and the limit", err)
		}
	})
}

func TestWaitForAnotherProcessEndsWithTheCommand(t *testing.T) {
	t.Parallel()
	cfg := lockedFolder(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithTimeout(t.Context(), time.Second)
		defer interrupt()
		_, err := reachEngine(ctx, &session{cfg: cfg, logger: slog.New(slog.DiscardHandler)})
		env.WantError(t, context.DeadlineExceeded, err, "the context's")
	})
}

func TestOnlySomeCommandsCreateAWarehouse(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	cfg := config.Config{Warehouse: config.Warehouse{Data: dir}}
	_, err := reachExisting(t.Context(), &session{cfg: cfg, logger: slog.New(slog.DiscardHandler)})
	for _, want := range []string{dir, "PNYX_DATA", "pnyx serve"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that names %s", err, want)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that nothing was created", err)
	}
}

func TestUnusableDataFolderNamesItsSetting(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	env.MustDo(t, os.WriteFile(file, nil, 0o600))
	cfg := config.Config{Warehouse: config.Warehouse{Data: file}}
	_, err := (&session{cfg: cfg, logger: slog.New(slog.DiscardHandler)}).openWarehouse(t.Context(), reachEngine)
	if err == nil || !strings.Contains(err.Error(), "PNYX_DATA="+file) {
		t.Errorf("got %v, want the setting", err)
	}
}
