package warehouse

import (
	"strings"
	"testing"
)

func TestEveryMigrationMayRunTwice(t *testing.T) {
	t.Parallel()
	statements, err := migrations(migrationFiles)
	if err != nil {
		t.Fatal(err)
	}
	if len(statements) < 10 {
		t.Fatalf("got %d statements, want them all", len(statements))
	}
	for _, s := range statements {
		if !strings.Contains(s.text, "IF NOT EXISTS") && !strings.Contains(s.text, "IF EXISTS") {
			t.Errorf("%s: %.60q… is not idempotent", s.file, s.text)
		}
		if s.table != "" && s.table != "schema_migrations" && s.shardBy == "" {
			t.Errorf("%s: table %s has no sharding key", s.file, s.table)
		}
	}
}

func TestEveryQueryFileIsNamedInCode(t *testing.T) {
	t.Parallel()
	entries, err := queryFiles.ReadDir("queries")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if text := query(strings.TrimSuffix(entry.Name(), ".sql")); strings.TrimSpace(text) == "" {
			t.Errorf("%s is empty", entry.Name())
		}
	}
}
