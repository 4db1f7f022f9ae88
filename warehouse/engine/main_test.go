package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"go.uber.org/goleak"

	"pnyx/test/env"
	"pnyx/warehouse/engine"
)

// ownerCommand makes this test program run an engine until it is killed.
const ownerCommand = "run-engine-owner"

// testTimeout bounds each step of these tests. It is generous for a loaded machine; no
// test waits for it unless it fails.
const testTimeout = 2 * time.Minute

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == ownerCommand {
		os.Exit(runOwner(os.Args[2], os.Args[3], os.Args[4]))
	}
	goleak.VerifyTestMain(sharing{m})
}

// sharing runs tests of which many share one engine, with the table.
type sharing struct{ *testing.M }

var shared struct {
	sync.Mutex

	folder string
	engine *engine.Engine
}

// Run runs the tests, and then stops the engine.
func (s sharing) Run() int {
	status := s.M.Run()
	if shared.engine != nil {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		if err := errors.Join(shared.engine.Stop(ctx), os.RemoveAll(shared.folder)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return status
}

// common returns the engine of all tests that leave it and the table as they are.
func common(t *testing.T) *engine.Engine {
	t.Helper()
	options := env.EngineOptions(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.engine == nil {
		env.MustDo(t, startShared(options))
		table(t, shared.engine.Instance())
	}
	return shared.engine
}

func startShared(options engine.Options) (err error) {
	if shared.folder, err = os.MkdirTemp("", "pnyx-engines-"); err != nil {
		return err
	}
	options.DataDir, options.Logger, options.AnalystGrants = shared.folder, slog.New(slog.DiscardHandler), []string{"SELECT ON pnyx_views.vote"}
	shared.engine, err = engine.Start(context.Background(), options)
	return err
}

// runOwner starts an engine, prints "ready", and waits to be killed.
func runOwner(dir, library, executable string) int {
	_, err := engine.Start(context.Background(), engine.Options{
		DataDir:    dir,
		Program:    engine.Program{Library: library},
		Executable: executable,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, "ready")
	select {}
}

// start runs an engine until the end of the test.
func start(t *testing.T, options engine.Options) *engine.Engine {
	t.Helper()
	e := env.Must(engine.Start(t.Context(), options))(t)
	t.Cleanup(func() { stop(t, e) })
	return e
}

func stop(t *testing.T, e *engine.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	env.WantError(t, nil, e.Stop(ctx), "stop")
}

// open connects to an instance.
func open(t *testing.T, dsn string) clickhouse.Conn {
	t.Helper()
	return env.ConnectWarehouse(t, dsn)
}

// run executes statements in order.
func run(t *testing.T, conn clickhouse.Conn, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	for _, statement := range statements {
		if err := conn.Exec(ctx, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// count returns the number that a query returns.
func count(ctx context.Context, conn clickhouse.Conn, query string) (n uint64, err error) {
	// The client sends its deadline as a setting, and an analyst may not exceed the
	// engine's limit.
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return n, conn.QueryRow(ctx, query).Scan(&n)
}

// wantCount checks the number that a query returns.
func wantCount(t *testing.T, conn clickhouse.Conn, query string, want uint64) {
	t.Helper()
	if got, err := count(t.Context(), conn, query); err != nil || got != want {
		t.Fatalf("%s: got %d, %v, want %d", query, got, err, want)
	}
}

// overHTTP runs a query over HTTP.
func overHTTP(t *testing.T, instance engine.Instance, user, password, query string) (string, error) {
	t.Helper()
	values := url.Values{"user": {user}, "password": {password}, "query": {query}}
	request := env.Must(http.NewRequestWithContext(t.Context(), http.MethodPost,
		"http://"+instance.HTTPAddr+"/?"+values.Encode(), http.NoBody))(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: testTimeout}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(string(body))
	}
	return strings.TrimSpace(string(body)), err
}

// table creates a table with three rows.
func table(t *testing.T, instance engine.Instance) {
	t.Helper()
	run(t, open(t, instance.URL("default")),
		"CREATE TABLE pnyx_views.vote (voter UInt64) ENGINE = MergeTree ORDER BY voter",
		"INSERT INTO pnyx_views.vote SELECT number FROM numbers(3)")
}

// library returns the path of the library. It skips the test if there is none.
func library(t *testing.T) string {
	t.Helper()
	return env.EngineOptions(t).Program.Library
}
