package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"go.uber.org/goleak"

	"pnyx/warehouse/engine"
	"pnyx/warehouse/engine/enginetest"
)

func TestMain(m *testing.M) {
	status := m.Run()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := errors.Join(enginetest.Cleanup(ctx), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func TestSharedIsOneEngine(t *testing.T) {
	t.Parallel()
	first, second := enginetest.Shared(t), enginetest.Shared(t)
	if first != second {
		t.Errorf("shared: got %v, then %v", first, second)
	}
	if own := enginetest.Start(t); own.TCPAddr == first.TCPAddr {
		t.Error("an engine of one's own is the shared one")
	}
}

func TestDatabaseIsDroppedWithItsTest(t *testing.T) { // not parallel: it waits for its subtest
	instance := enginetest.Shared(t)
	var name string
	t.Run("user", func(t *testing.T) {
		name = enginetest.Database(t, instance)
		if other := enginetest.Database(t, instance); other == name {
			t.Errorf("two databases are called %s", name)
		}
		if got := databases(t, instance); !strings.Contains(got, name) {
			t.Errorf("databases: got %s, want %s among them", got, name)
		}
	})
	if got := databases(t, instance); strings.Contains(got, name) {
		t.Errorf("databases: got %s, want %s gone", got, name)
	}
}

// databases is the names of all of them.
func databases(t *testing.T, instance engine.Instance) string {
	t.Helper()
	options, err := clickhouse.ParseDSN(instance.URL("default"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var names string
	if err := conn.QueryRow(t.Context(), "SELECT arrayStringConcat(groupArray(name), ' ') FROM system.databases").Scan(&names); err != nil {
		t.Fatal(err)
	}
	return names
}
