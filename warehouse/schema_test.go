package warehouse_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

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
	conn := raw(t, instance.URL(warehouse.DefaultDatabase))
	for _, statement := range statements {
		mustExec(t, conn, statement)
	}
}

// readerURL is the address of a user who may only read, over the native protocol.
func readerURL(instance engine.Instance) string {
	instance.User, instance.Password = instance.AnalystUser, instance.AnalystPassword
	return instance.URL(warehouse.DefaultDatabase)
}

// The schema of one warehouse, as its owner and a user who may only read find it.
func TestSchemaIsThatOfTheLatestVersion(t *testing.T) {
	t.Parallel()
	instance := env.StartEngine(t, "SELECT ON pnyx.*")
	// The analyst, past the proxy that knows no other database than the views.
	reader, url := readerURL(instance), instance.URL(warehouse.DefaultDatabase)
	opens := func(step, url string) {
		t.Helper()
		if _, err := openAs(t, url); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
	isTold := func(step string) {
		t.Helper()
		if _, err := openAs(t, reader); err == nil || !strings.Contains(err.Error(), "pnyx migrate") {
			t.Errorf("%s: for a user who may not change it, got %v, want what to do about it", step, err)
		}
	}
	if _, err := openAs(t, reader); err == nil {
		t.Fatal("a warehouse without a schema opens for a user who may not make one")
	}
	owner := env.Must(openAs(t, url))(t)
	opens("the schema is up to date", reader)
	execute(t, instance, "TRUNCATE TABLE schema_migrations")
	isTold("a schema of another version")
	execute(t, instance, "DROP VIEW latest_ballots")
	env.MustDo(t, owner.Migrate(t.Context()))
	execute(t, instance, "SELECT 1 FROM latest_ballots LIMIT 1")
	opens("after a migration", reader)

	execute(t, instance, "CREATE OR REPLACE VIEW latest_ballots AS SELECT * FROM ballots WHERE 0",
		"INSERT INTO schema_migrations (fingerprint, applied_at) VALUES ('earlier', now64(3) + 1)")
	isTold("after an earlier version")
	opens("after an earlier version", url)
	if got := latestBallotsView(t, url); strings.Contains(got, "WHERE 0") {
		t.Errorf("got the view %s of the earlier version, want it replaced", got)
	}

	execute(t, instance, "CREATE OR REPLACE VIEW latest_ballots AS SELECT * FROM ballots WHERE 9999",
		"INSERT INTO schema_migrations (fingerprint, number) VALUES ('later', 9999)")
	env.MustDo(t, owner.Migrate(t.Context()))
	opens("after a later version", url)
	opens("after a later version", reader)
	env.WantPart(t, "WHERE 9999", latestBallotsView(t, url), "view of the later version")
	execute(t, instance, "INSERT INTO schema_migrations (fingerprint, number, oldest) VALUES ('later', 9999, 9998)")
	for name, try := range map[string]func() error{
		"open":    func() error { _, err := openAs(t, url); return err },
		"migrate": func() error { return owner.Migrate(t.Context()) },
	} {
		// It is none of the connection, which would be tried again and again.
		if err := try(); err == nil || !strings.Contains(err.Error(), "run the later version") || errors.Is(err, warehouse.ErrUnreachable) {
			t.Errorf("%s, when the later version has removed something: got %v, want what to do about it", name, err)
		}
	}
}

// latestBallotsView is the definition of a view that migrations replace.
func latestBallotsView(t *testing.T, url string) string {
	t.Helper()
	return env.Column(t, env.ConnectWarehouse(t, url),
		"SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND name = 'latest_ballots'")[0]
}
