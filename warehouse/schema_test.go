package warehouse_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/engine"
)

// openAs opens the warehouse of an engine under some credentials.
func openAs(t *testing.T, url string) (*warehouse.Warehouse, error) {
	t.Helper()
	opened, err := warehouse.Open(t.Context(), warehouse.Options{URL: url, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		t.Cleanup(func() { opened.Close() })
	}
	return opened, err
}

// execute runs statements as the user who may do everything.
func execute(t *testing.T, instance engine.Instance, statements ...string) {
	t.Helper()
	options, err := clickhouse.ParseDSN(instance.URL(warehouse.DefaultDatabase))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, statement := range statements {
		if err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestOnlyMigrationNeedsRightToChangeSchema(t *testing.T) {
	t.Parallel()
	instance := env.StartEngine(t, "SELECT ON pnyx.*")
	// The analyst, past the proxy that knows no other database than the views.
	reader := strings.Replace(instance.AnalystURL(warehouse.DefaultDatabase), instance.AnalystAddr, instance.TCPAddr, 1)
	if _, err := openAs(t, reader); err == nil {
		t.Fatal("a warehouse without a schema opens for a user who may not make one")
	}
	owner, err := openAs(t, instance.URL(warehouse.DefaultDatabase))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openAs(t, reader); err != nil {
		t.Errorf("the schema is up to date: %v", err)
	}
	execute(t, instance, "TRUNCATE TABLE schema_migrations")
	_, err = openAs(t, reader)
	if err == nil || !strings.Contains(err.Error(), "pnyx migrate") {
		t.Errorf("a schema of another version: got %v, want what to do about it", err)
	}
	execute(t, instance, "DROP VIEW latest_ballots")
	if err := owner.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	execute(t, instance, "SELECT 1 FROM latest_ballots LIMIT 1")
	if _, err := openAs(t, reader); err != nil {
		t.Errorf("after a migration: %v", err)
	}
}
