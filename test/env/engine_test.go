package env_test

import (
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"go.uber.org/goleak"

	"pnyx/test/env"
	"pnyx/warehouse/engine"
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
