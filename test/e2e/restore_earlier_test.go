package e2e_test

import (
	"context"
	"encoding/json"
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
	made := backUpFixture(t, backups)
	setting := []string{"PNYX_DATA=" + data}
	env.MustRun(t, setting, "restore", backups)
	i := start(t, data, []string{"REDIS_URL=" + env.Redis(t).URL, "PNYX_FREE_RATE=0"}, "serve").ready()
	i.AwaitPublished()
	i.AwaitFeed()
	want.checkAnswers(t, i)
	if out := env.MustRun(t, i.Environ, "payments", "list", "--state", "settled"); !strings.Contains(out, want.Payment) {
		t.Errorf("got %s, want the transaction %s", out, want.Payment)
	}

	var schema any
	editManifest(t, backups, made, func(m map[string]any) {
		schema = m["schema"]
		m["schema"], m["version"] = 999, "9.9.9"
	})
	untouched := filepath.Join(t.TempDir(), "data")
	out, status := env.Run(t, []string{"PNYX_DATA=" + untouched}, "restore", backups)
	if status != 1 || !strings.Contains(out, "use pnyx 9.9.9 or later") {
		t.Errorf("of a later version: got %d %s, want 1 and what to do", status, out)
	}
	editManifest(t, backups, made, func(m map[string]any) { m["schema"] = schema })
	env.MustRun(t, []string{"PNYX_DATA=" + untouched}, "restore", backups) // it is empty still
}

// backUpFixture migrates the fixture and backs it up, and returns the backup's name.
func backUpFixture(t *testing.T, backups string) string {
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
	made, err := backup.Create(t.Context(), backup.Options{
		Destination: backups, Archive: archive, Progress: func(string, uint64, uint64) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.Name
}

// editManifest changes the manifest of a backup.
func editManifest(t *testing.T, backups, name string, change func(m map[string]any)) {
	t.Helper()
	path := filepath.Join(backups, name, "manifest.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]any{}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber() // checksums
	if err := decoder.Decode(&m); err != nil {
		t.Fatal(err)
	}
	change(m)
	if text, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
