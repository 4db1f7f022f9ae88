package env

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"pnyx/warehouse"
	"pnyx/warehouse/engine"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// queryTimeout bounds each query of Warehouse. Nothing waits for it when all is well.
const queryTimeout = time.Minute

// Warehouse opens a database on the shared engine that is tb's alone; see MigratedDatabase.
func Warehouse(tb testing.TB) *warehouse.Warehouse {
	tb.Helper()
	opened := Must(openWarehouse(tb.Context(), DatabaseURL(tb)))(tb)
	tb.Cleanup(func() { opened.Close() })
	return opened
}

// MigratedDatabase returns the name of a database of the shared engine with the schema of this version and no
// rows, which is tb's alone until it ends, and kept when tb has failed. It may be that of a test that has ended,
// since emptying one costs far less than migrating: a test that changes the schema takes an EngineDatabase.
func MigratedDatabase(tb testing.TB, instance engine.Instance) string {
	tb.Helper()
	name := shared.takeDatabase()
	if name == "" {
		name = newDatabaseName()
		untilRunning(tb, func() error {
			opened, err := openWarehouse(tb.Context(), instance.URL(name))
			if err != nil {
				return err
			}
			// The clocks of tests are not the engine's: to it, their rows may have expired.
			return errors.Join(opened.Close(), execute(tb.Context(), instance, "SYSTEM STOP TTL MERGES"))
		})
	} else {
		untilRunning(tb, func() error { return emptyDatabase(tb.Context(), instance, name) })
	}
	tb.Cleanup(func() {
		if !tb.Failed() {
			shared.returnDatabase(name)
		}
	})
	return name
}

func openWarehouse(ctx context.Context, url string) (*warehouse.Warehouse, error) {
	return warehouse.Open(ctx, warehouse.Options{
		URL: url, QueryTimeout: queryTimeout, Logger: slog.New(slog.DiscardHandler),
	})
}

// emptyDatabase removes all rows, once the engine has ended what it did for the test before.
func emptyDatabase(ctx context.Context, instance engine.Instance, database string) error {
	conn, err := connect(instance, database)
	if err != nil {
		return err
	}
	defer conn.Close()
	const kill = "KILL QUERY WHERE current_database = currentDatabase() AND query_id != queryID() SYNC FORMAT Null"
	if err := conn.Exec(ctx, kill); err != nil {
		return fmt.Errorf("end the queries of %s: %w", database, err)
	}
	var filled []string
	const tables = `SELECT groupArray(name) FROM system.tables
		WHERE database = currentDatabase() AND total_rows > 0 AND name != 'schema_migrations'`
	if err := conn.QueryRow(ctx, tables).Scan(&filled); err != nil {
		return fmt.Errorf("list the tables of %s with rows: %w", database, err)
	}
	for _, table := range filled {
		if err := conn.Exec(ctx, "TRUNCATE TABLE "+table+" SYNC"); err != nil {
			return fmt.Errorf("empty %s.%s: %w", database, table, err)
		}
	}
	return nil
}

// Rejected counts the items of a followed source that were no valid records.
func Rejected(tb testing.TB, w *warehouse.Warehouse, source record.SourceRef) uint64 {
	tb.Helper()
	follows := Must(records.SourceFollows(tb.Context(), w, time.Now()))(tb)
	return follows[source].Status.Rejected
}
