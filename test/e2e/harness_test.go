package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pnyx/access"
	"pnyx/test/env"
	"pnyx/warehouse/engine"
)

// binary is the program under test, built once.
var binary struct {
	once sync.Once
	path string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if binary.path != "" {
		os.RemoveAll(filepath.Dir(binary.path))
	}
	os.Exit(code)
}

// pnyxBinary builds the program.
func pnyxBinary(tb testing.TB) string {
	tb.Helper()
	binary.once.Do(func() {
		dir, err := os.MkdirTemp("", "pnyx-test-") //nolint:usetesting // it outlives the test that is first
		if err != nil {
			binary.err = err
			return
		}
		binary.path = filepath.Join(dir, "pnyx")
		build := exec.Command("go", "build", "-o", binary.path, "pnyx")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			binary.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if binary.err != nil {
		tb.Fatalf("build pnyx: %v", binary.err)
	}
	return binary.path
}

// requireEngine skips a test where there is no ClickHouse to run.
func requireEngine(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs the engine, which -short leaves out")
	}
	if os.Getenv("CLICKHOUSE_URL") != "" {
		return
	}
	_, err := engine.Locate(context.Background(), engine.LocateOptions{Library: os.Getenv("PNYX_ENGINE_LIB")})
	if err != nil && os.Getenv("PNYX_TEST_REQUIRE_ENGINE") != "" {
		tb.Fatal(err)
	}
	if err != nil {
		tb.Skip(err)
	}
}

// command runs the program to its end and returns what it printed and its exit
// status.
func command(tb testing.TB, environ []string, args ...string) (out string, status int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, pnyxBinary(tb), args...)
	cmd.Env = append(os.Environ(), environ...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		tb.Fatalf("run pnyx %v: %v", args, err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// instance is a running pnyx.
type instance struct {
	tb      testing.TB
	cmd     *exec.Cmd
	environ []string
	base    string
	admin   string
	dataDir string
	output  *env.Buffer
	done    chan struct{}
}

// internalToken is that of internal callers, as which tests ask unless they are
// about access.
const internalToken = "internal-token-of-the-tests-of-pnyx"

// start runs pnyx with a role ("serve", "api", …) on free ports, and ends it with
// the test. It does not wait until it is ready; see ready.
func start(tb testing.TB, dataDir string, environ []string, args ...string) *instance {
	tb.Helper()
	i := &instance{
		tb: tb, dataDir: dataDir, output: &env.Buffer{}, done: make(chan struct{}),
	}
	listen, admin := env.FreeAddress(tb), env.FreeAddress(tb)
	i.base, i.admin = "http://"+listen, "http://"+admin
	i.environ = append([]string{
		"PNYX_INTERNAL_TOKEN=" + internalToken, "PNYX_DATA=" + dataDir, "PNYX_LISTEN=" + listen, "PNYX_ADMIN_LISTEN=" + admin,
		"PNYX_PUBLISH_INTERVAL=100ms",
		// Tests that are not about a slow Redis should not see one.
		"PNYX_CACHE_TIMEOUT=4s", "PNYX_LIMIT_TIMEOUT=4s",
	}, environ...)
	i.cmd = exec.Command(pnyxBinary(tb), args...)
	i.cmd.Env = append(os.Environ(), i.environ...)
	i.cmd.Stdout, i.cmd.Stderr = i.output, i.output
	// A group of its own, so that a test can kill the whole tree.
	i.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := i.cmd.Start(); err != nil {
		tb.Fatalf("start pnyx: %v", err)
	}
	go func() {
		defer close(i.done)
		_ = i.cmd.Wait() // tests look at ProcessState
	}()
	tb.Cleanup(func() {
		i.stop()
		if tb.Failed() {
			tb.Logf("output of pnyx %v:\n%s", args, i.output)
		}
	})
	return i
}

// ready waits until everything was published once.
func (i *instance) ready() *instance {
	i.tb.Helper()
	env.Until(i.tb, func() error {
		select {
		case <-i.done:
			i.tb.Fatalf("pnyx ended: %s\n%s", i.cmd.ProcessState, i.output)
		default:
		}
		status, body, err := fetch(i.admin + "/readyz")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("readyz: %d %s", status, body)
		}
		return err
	})
	return i
}

// stop asks the instance to end, and waits until it has.
func (i *instance) stop() {
	_ = i.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-i.done:
	case <-time.After(patience):
		i.killTree()
		i.tb.Errorf("pnyx did not end within %s of SIGTERM", patience)
	}
}

// killTree ends the instance and its children at once.
func (i *instance) killTree() {
	_ = syscall.Kill(-i.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
	<-i.done
}

// get reads the data of an answer, which must be a success.
func (i *instance) get(path string, data any) {
	i.tb.Helper()
	var answer struct {
		Data json.RawMessage `json:"data"`
	}
	status, body, err := fetch(i.base + path)
	if err != nil || status != http.StatusOK {
		i.tb.Fatalf("GET %s: %d %v %s", path, status, err, body)
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		i.tb.Fatalf("GET %s: %v", path, err)
	}
	if err := json.Unmarshal(answer.Data, data); err != nil {
		i.tb.Fatalf("GET %s: %v", path, err)
	}
}

// fetch asks an address, as an internal caller.
func fetch(url string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set(access.HeaderInternal, internalToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// patience is how long a test waits for what must come, on a machine that does other
// things besides.
const patience = time.Minute

// writeLines writes a file of newline-delimited JSON.
func writeLines(tb testing.TB, path string, lines ...string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
}
