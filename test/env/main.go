package env

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Main is the body of TestMain of a package that uses what the process shares. After the tests it stops the shared
// engine, whose log it prints after a failure, removes the shared folders and makes the checks. It does not return.
func Main(m *testing.M, checks ...func() error) {
	QuietRedis()
	SkipLong()
	status := m.Run()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	folder, err := sharedFolder()
	err = errors.Join(err, shared.stop(ctx), os.RemoveAll(folder))
	cancel()
	for _, check := range checks {
		err = errors.Join(err, check())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	if log := shared.log.String(); status != 0 && log != "" {
		fmt.Fprintf(os.Stderr, "log of the shared engine:\n%s", log[max(0, len(log)-shownOutput):])
	}
	os.Exit(status)
}

// SkipLong leaves out the tests named TestLong…, unless PNYX_TEST_LONG is set; Main calls it.
func SkipLong() {
	if !IsLong() {
		_ = flag.Set("test.skip", "^TestLong")
	}
}

// sharedFolder returns a folder that all tests of the process share. Main removes it.
var sharedFolder = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "pnyx-test-") }) //nolint:gochecknoglobals // one for the process is what it is for
