package env

import (
	"io/fs"
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
	for _, name := range []string{"daos.ndjson", "snapshot", "tally", "discourse"} {
		err := filepath.WalkDir(filepath.Join(from, name), func(path string, entry fs.DirEntry, err error) error { //nolint:gosec // a folder of the caller's
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path) //nolint:gosec // a folder of the caller's
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			to := filepath.Join(dir, relative)
			if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
				return err
			}
			return os.WriteFile(to, text, 0o600) //nolint:gosec // in a folder of the test
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}
