package env_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"go.uber.org/goleak"

	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/engine"
	"pnyx/warehouse/records"
)

func TestMain(m *testing.M) {
	env.Main(m, func() error { return goleak.Find(env.RedisLeftover()) })
}

func TestSharedIsOneEngine(t *testing.T) {
	t.Parallel()
	first, second := env.SharedEngine(t), env.SharedEngine(t)
	if first != second {
		t.Errorf("shared: got %v, then %v", first, second)
	}
	if own := env.StartEngine(t); own.TCPAddr == first.TCPAddr {
		t.Error("an engine of one's own is the shared one")
	}
}

func TestDatabaseIsDroppedWithItsTest(t *testing.T) { // not parallel: it waits for its subtest
	instance := env.SharedEngine(t)
	var name string
	t.Run("user", func(t *testing.T) {
		name = env.EngineDatabase(t, instance)
		if other := env.EngineDatabase(t, instance); other == name {
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

func TestMigratedDatabaseHasNoRowsOfTheTestBefore(t *testing.T) { // not parallel: it waits for its subtests
	instance := env.SharedEngine(t)
	var names []string
	for !seenTwice(names) {
		t.Run("user", func(t *testing.T) {
			names = append(names, env.MigratedDatabase(t, instance))
			w := openWarehouse(t, instance.URL(names[len(names)-1]))
			cursors, err := records.FollowCursors(t.Context(), w, "")
			if err != nil || len(cursors) != 0 {
				t.Errorf("got cursors %v of the test before (%v), want none", cursors, err)
			}
			if err := records.WriteFollowCursors(t.Context(), w, []records.FollowCursor{{Upstream: "harbor"}}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if first, second := env.MigratedDatabase(t, instance), env.MigratedDatabase(t, instance); first == second {
		t.Errorf("database %s was handed out twice at the same time", first)
	}
}

// seenTwice reports whether the last of the names is among the others.
func seenTwice(names []string) bool {
	last := len(names) - 1
	return last > 0 && slices.Contains(names[:last], names[last])
}

func openWarehouse(t *testing.T, url string) *warehouse.Warehouse {
	t.Helper()
	opened, err := warehouse.Open(t.Context(), warehouse.Options{URL: url, QueryTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	return opened
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
