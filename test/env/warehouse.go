package env

import (
	"log/slog"
	"testing"
	"time"

	"pnyx/warehouse"
)

// queryTimeout bounds each query of Warehouse. Nothing waits for it when all is well.
const queryTimeout = time.Minute

// Warehouse opens a database of its own on the shared engine.
func Warehouse(tb testing.TB) *warehouse.Warehouse {
	tb.Helper()
	opened, err := warehouse.Open(tb.Context(), warehouse.Options{
		URL: DatabaseURL(tb), QueryTimeout: queryTimeout, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { opened.Close() })
	return opened
}
