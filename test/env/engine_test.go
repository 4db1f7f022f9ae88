package env_test

import (
	"slices"
	"testing"

	"go.uber.org/goleak"

	"pnyx/test/env"
)

func TestMain(m *testing.M) {
	env.Main(m, func() error { return goleak.Find(env.RedisLeftover()) })
}

func TestSharedIsOneEngine(t *testing.T) {
	t.Parallel()
	first, second := env.SharedEngine(t), env.SharedEngine(t)
	env.Want(t, second, first, "shared", "then")
	if own := env.StartEngine(t); own.TCPAddr == first.TCPAddr {
		t.Error("an engine of one's own is the shared one")
	}
}

func TestDatabaseIsDroppedWithItsTest(t *testing.T) { // not parallel: it waits for its subtest
	instance := env.SharedEngine(t)
	conn := env.ConnectWarehouse(t, instance.URL("default"))
	databases := func() []string { return env.Column(t, conn, "SELECT name FROM system.databases") }
	var name string
	t.Run("user", func(t *testing.T) {
		name = env.EngineDatabase(t, instance)
		if other := env.EngineDatabase(t, instance); other == name {
			t.Errorf("two databases are called %s", name)
		}
		if got := databases(); !slices.Contains(got, name) {
			t.Errorf("databases: got %s, want %s among them", got, name)
		}
	})
	if got := databases(); slices.Contains(got, name) {
		t.Errorf("databases: got %s, want %s gone", got, name)
	}
}
