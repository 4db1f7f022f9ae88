package env

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"pnyx/warehouse/engine"
)

// InternalToken is the token of internal callers in every process that StartPnyx starts.
const InternalToken = "internal-token-of-the-tests-of-pnyx"

// runTimeout bounds a command that Run runs.
const runTimeout = 5 * time.Minute

// builtPnyx builds the program under test, once in a process.
var builtPnyx = sync.OnceValues(func() (string, error) { //nolint:gochecknoglobals // one for the process is what it is for
	if path := os.Getenv("PNYX_TEST_BINARY"); path != "" {
		return path, nil
	}
	return buildProgram("pnyx", "pnyx")
})

// Binary is PNYX_TEST_BINARY, or the program built from the source. It skips the test under -short.
func Binary(tb testing.TB) string {
	tb.Helper()
	SkipShort(tb, "the built program")
	return Must(builtPnyx())(tb)
}

// IsLong reports whether PNYX_TEST_LONG is set, as by `make test-long`.
func IsLong() bool {
	return os.Getenv("PNYX_TEST_LONG") != ""
}

// Run runs a pnyx command to its end, and returns what it printed and its exit status.
func Run(tb testing.TB, environ []string, args ...string) (output string, status int) {
	tb.Helper()
	return RunProgram(tb, Binary(tb), environ, args...)
}

// RunProgram is Run for another program, such as an earlier version.
func RunProgram(tb testing.TB, path string, environ []string, args ...string) (output string, status int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), runTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, path, args...) //nolint:gosec // the program under test
	command.Env = append(os.Environ(), environ...)
	text, err := command.CombinedOutput()
	if command.ProcessState == nil {
		tb.Fatalf("run %s %v: %v", path, args, err)
	}
	return string(text), command.ProcessState.ExitCode()
}

// MustRun is Run for a command that must succeed. It is repeated while there is no warehouse.
func MustRun(tb testing.TB, environ []string, args ...string) (output string) {
	tb.Helper()
	var status int
	Until(tb, func() error {
		if output, status = Run(tb, environ, args...); status != 0 && strings.Contains(output, unreachable) {
			return fmt.Errorf("pnyx %v: status %d: %s", args, status, output)
		}
		return nil
	})
	if status != 0 {
		tb.Fatalf("pnyx %v: status %d: %s", args, status, output)
	}
	return output
}

// Pnyx is a running pnyx process with one of its roles.
type Pnyx struct {
	*Process

	// TB is the test that started the process.
	TB testing.TB
	// URL is the address of the API, and AdminURL the address of metrics and probes.
	URL, AdminURL string
	// DataDir is the folder of the embedded warehouse, unless Environ names a server.
	DataDir string
	// Environ has the settings of the process. Commands with them work on the same warehouse and Redis.
	Environ []string
}

// StartPnyx starts pnyx with a role ("serve", "api", …) on free ports and further settings, and ends it with the
// test. It does not wait until the process is ready; see Ready.
func StartPnyx(tb testing.TB, dataDir string, environ []string, args ...string) *Pnyx {
	tb.Helper()
	return StartProgram(tb, Binary(tb), dataDir, environ, args...)
}

// StartProgram is StartPnyx with a program of another version.
func StartProgram(tb testing.TB, program, dataDir string, environ []string, args ...string) *Pnyx {
	tb.Helper()
	listen, admin := FreeAddress(tb), FreeAddress(tb)
	p := &Pnyx{TB: tb, URL: "http://" + listen, AdminURL: "http://" + admin, DataDir: dataDir}
	p.Environ = append([]string{
		"PNYX_INTERNAL_TOKEN=" + InternalToken, "PNYX_DATA=" + dataDir, "PNYX_LISTEN=" + listen,
		"PNYX_ADMIN_LISTEN=" + admin, "PNYX_PUBLISH_INTERVAL=200ms",
		// A busy machine is late with everything. Tests of what is slow or down set shorter limits.
		"PNYX_REQUEST_TIMEOUT=30s", "PNYX_CACHE_TIMEOUT=4s", "PNYX_LIMIT_TIMEOUT=4s", "PNYX_QUERY_TIMEOUT=2m",
		"PNYX_LEASE_TTL=30s", "PNYX_STALE_AFTER=2m",
	}, environ...)
	tb.Cleanup(func() { awaitEngineEnd(tb, dataDir) })
	p.Process = NewProcess(tb, program, p.Environ, args...)
	p.Start()
	tb.Cleanup(p.Stop)
	return p
}

// awaitEngineEnd waits until no engine runs in a data folder: the engine of a killed process ends a moment later.
func awaitEngineEnd(tb testing.TB, dataDir string) {
	tb.Helper()
	Until(tb, func() error {
		if _, err := engine.Find(dataDir); !errors.Is(err, engine.ErrNotRunning) {
			return fmt.Errorf("an engine runs in %s (%w)", dataDir, err)
		}
		return nil
	})
}

const (
	// unreachable is in the error of a command whose warehouse did not answer in time.
	unreachable = "is unreachable"
	// inUse is in the error of a command whose data folder has another owner.
	inUse = "in use"
)

// AwaitReady waits until the process is ready. On a busy machine, one that has ended because a server answered too
// late, or a killed owner of its folder had not ended yet, is started again.
func (p *Pnyx) AwaitReady() {
	p.TB.Helper()
	starts := 1
	Until(p.TB, func() error {
		said := p.Output.String()
		if err := p.Err(); err != nil && strings.Count(said, unreachable)+strings.Count(said, inUse) < starts {
			p.TB.Fatal(err)
		} else if err != nil {
			starts++
			p.Start()
		}
		status, body, err := Fetch(p.AdminURL + "/readyz")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("readyz: %d %s", status, body)
		}
		return err
	})
}

// AwaitProbe waits until a path of the admin listener answers with a status and a text.
func (p *Pnyx) AwaitProbe(path string, status int, text string) {
	p.TB.Helper()
	Until(p.TB, func() error {
		got, body, err := Fetch(p.AdminURL + path)
		if err != nil || got != status || !strings.Contains(string(body), text) {
			return fmt.Errorf("%s: got %d %q %w, want %d %q", path, got, body, err, status, text)
		}
		return nil
	})
}

// EmbeddedURL is the address of the embedded warehouse that runs in a data folder.
func EmbeddedURL(tb testing.TB, dataDir string) string {
	tb.Helper()
	instance := Must(engine.Find(dataDir))(tb)
	return instance.URL("pnyx")
}
