package drills

import (
	"os"
	"strconv"
	"testing"
	"time"

	"pnyx/test/env"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if sharedDataset.dir != "" {
		os.RemoveAll(sharedDataset.dir)
	}
	os.Exit(code)
}

// gate skips a test that takes minutes, unless its variable is set.
func gate(t *testing.T, variable, target string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		t.Skipf("takes minutes: run %s", target)
	}
	return value
}

// lasting is gate for a test that goes on for as long as its variable says.
func lasting(t *testing.T, variable, target string) time.Duration {
	t.Helper()
	return env.Must(time.ParseDuration(gate(t, variable, target)))(t)
}

// newSeed returns PNYX_TEST_SEED, or another seed each second.
func newSeed(t *testing.T) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("PNYX_TEST_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().Unix())
	}
	t.Logf("PNYX_TEST_SEED=%d", seed)
	return seed
}
