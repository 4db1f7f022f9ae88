package drills

import (
	"os"
	"testing"
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
