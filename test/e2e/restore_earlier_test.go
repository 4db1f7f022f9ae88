package e2e_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/backup"
	"pnyx/warehouse/engine"
)

// TestLongBackupOfAnEarlierSchemaIsRestored backs up the warehouse of the upgrade fixture once it
// is migrated, with the tables of the earlier version that are left in it. Restored, it gives the
// answers of the earlier version.
func TestLongBackupOfAnEarlierSchemaIsRestored(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	var want recordedUpgrade
	readFixture(t, fixtureRecord, &want)
	backups, data := filepath.Join(t.TempDir(), "backups"), filepath.Join(t.TempDir(), "data")
	backUpFixture(t, backups)
	setting := []string{"PNYX_DATA=" + data}
	env.MustRun(t, setting, "restore", backups)
	i := start(t, data, []string{"REDIS_URL=" + env.Redis(t).URL, "PNYX_FREE_RATE=0"}, "serve").ready()
	i.AwaitPublished()
	i.AwaitFeed()
	want.checkAnswers(t, i)
	if out := env.MustRun(t, i.Environ, "payments", "list", "--state", "settled"); !strings.Contains(out, want.Payment) {
		t.Errorf("got %s, want the transaction %s", out, want.Payment)
	}
}

// backUpFixture migrates the fixture and backs it up.
func backUpFixture(t *testing.T, backups string) {
	t.Helper()
	data := t.TempDir()
	runTool(t, "tar", "-xzf", filepath.Join(upgradeFixture, fixtureWarehouse), "-C", data)
	program, err := engine.Locate(t.Context(), engine.LocateOptions{Library: os.Getenv("PNYX_ENGINE_LIB")})
	if err != nil {
		t.Fatal(err)
	}
	running, err := engine.Start(t.Context(), engine.Options{DataDir: data, Program: program, Executable: env.Binary(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := running.Stop(ctx); err != nil {
			t.Error(err)
		}
	}()
	const limit = 2 * time.Minute
	options := warehouse.Options{URL: running.Instance().URL(warehouse.DefaultDatabase), QueryTimeout: limit, Logger: slog.New(slog.DiscardHandler)}
	migrated, err := warehouse.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer migrated.Close()
	archive, err := warehouse.OpenArchive(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if _, err := backup.Create(t.Context(), backup.Options{
		Destination: backups, Archive: archive, Progress: func(string, uint64, uint64) {},
	}); err != nil {
		t.Fatal(err)
	}
}
