package env

import (
	"os"
	"path/filepath"
	"testing"
)

// RealData returns a folder with the records alone in PNYX_TEST_REAL_DATA, or skips the test.
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
	WriteFile(tb, filepath.Join(dir, daos), string(ReadFile(tb, filepath.Join(from, daos))))
	return dir
}
