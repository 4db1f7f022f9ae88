package env

import (
	"os"
	"path/filepath"
	"testing"
)

// RealData returns a folder with the records of real upstream data in the folder that
// PNYX_TEST_REAL_DATA names, and nothing that lies beside them. It skips the test without one.
func RealData(tb testing.TB) string {
	tb.Helper()
	from := os.Getenv("PNYX_TEST_REAL_DATA")
	if from == "" {
		tb.Skip("PNYX_TEST_REAL_DATA is not set: it names a folder of real upstream data")
	}
	dir := tb.TempDir()
	for _, name := range []string{"snapshot", "tally", "discourse"} {
		MustDo(tb, os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(from, name))))
	}
	const daos = "daos.ndjson"
	text, err := os.ReadFile(filepath.Join(from, daos)) //nolint:gosec // a folder of the caller's
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, daos), text, 0o600) //nolint:gosec // in a folder of the test
	}
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}
