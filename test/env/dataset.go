package env

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// dataSets are the folders that DataSet has made, by arguments.
var dataSets sync.Map //nolint:gochecknoglobals // one for the process is what it is for

// DataSet returns a folder with an invented data set of so many ballots, a fifth of them on the largest proposal,
// for all tests of the process; none may write to it.
func DataSet(tb testing.TB, ballots int) string {
	tb.Helper()
	return GeneratedDataSet(tb, "--now", "2026-06-01T00:00:00Z", "--daos", "20", "--proposals", "300",
		"--ballots", strconv.Itoa(ballots), "--largest", strconv.Itoa(ballots/5))
}

// GeneratedDataSet is DataSet with the given arguments of `pnyx generate`.
func GeneratedDataSet(tb testing.TB, args ...string) string {
	tb.Helper()
	Binary(tb) // Skips here: a test that ends inside OnceValues panics.
	made, _ := dataSets.LoadOrStore(strings.Join(args, " "), sync.OnceValues(func() (string, error) {
		parent, err := sharedFolder()
		if err != nil {
			return "", err
		}
		dir := filepath.Join(parent, fmt.Sprintf("data-%s", strings.Join(args, "_")))
		if out, status := Run(tb, nil, append(append([]string{"generate"}, args...), dir)...); status != 0 {
			return "", fmt.Errorf("pnyx generate %v: status %d: %s", args, status, out)
		}
		return dir, nil
	}))
	generate, _ := made.(func() (string, error)) // as stored
	return Must(generate())(tb)
}
