package env

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/warehouse"
	"pnyx/warehouse/engine"
)

const (
	// maxMemory bounds an engine, in bytes. One that many tests share counts far more than it uses.
	maxMemory = 6 << 30

	stopTimeout = 15 * time.Second
)

// EngineOptions is what an engine of tb's own needs, for tests that change something before engine.Start. It skips
// the test when there is no engine.
func EngineOptions(tb testing.TB) engine.Options {
	tb.Helper()
	return engine.Options{
		DataDir:    tb.TempDir(),
		Program:    located(tb),
		Executable: Must(builtChild())(tb),
		Logger:     slog.New(slog.NewTextHandler(tb.Output(), nil)),
		MaxMemory:  maxMemory,
	}
}

// StartEngine runs an engine until the end of tb, with rights of the user analyst, or skips the test.
func StartEngine(tb testing.TB, analystGrants ...string) engine.Instance {
	tb.Helper()
	options := EngineOptions(tb)
	options.AnalystGrants = analystGrants
	e := Must(engine.Start(tb.Context(), options))(tb)
	tb.Cleanup(func() { stop(tb, e) })
	return e.Instance()
}

// SharedEngine runs one engine for all tests of the process, until Main or the process ends. It skips the test
// when there is none.
func SharedEngine(tb testing.TB) engine.Instance {
	tb.Helper()
	return Must(shared.start(tb.Context(), located(tb)))(tb)
}

// EngineDatabase creates a database and returns its name. It is dropped at the end of tb, unless tb has failed:
// then it can be inspected as long as the engine runs.
func EngineDatabase(tb testing.TB, instance engine.Instance) string {
	tb.Helper()
	name := newDatabaseName()
	untilRunning(tb, func() error { return execute(tb.Context(), instance, "CREATE DATABASE IF NOT EXISTS "+name) })
	tb.Cleanup(func() {
		if tb.Failed() {
			return
		}
		untilRunning(tb, func() error {
			ctx := context.WithoutCancel(tb.Context())
			return errors.Join(execute(ctx, instance, "DROP DATABASE IF EXISTS "+warehouse.ViewsDatabase(name)+" SYNC"),
				execute(ctx, instance, "DROP DATABASE IF EXISTS "+name+" SYNC"))
		})
	})
	return name
}

func newDatabaseName() string { return "test_" + strings.ToLower(rand.Text()[:12]) }

// located is the engine to run; without one, and under -short, tb ends here.
func located(tb testing.TB) engine.Program {
	tb.Helper()
	SkipShort(tb, "the engine")
	set := os.Getenv("PNYX_ENGINE_LIB")
	program, err := engine.Locate(engine.LocateOptions{Library: set})
	if err == nil {
		return program
	}
	required := os.Getenv("PNYX_TEST_REQUIRE_ENGINE") == "1"
	if required || !errors.Is(err, engine.ErrNoEngine) {
		tb.Fatal(err)
	}
	tb.Skip(err)
	return engine.Program{}
}

func stop(tb testing.TB, e *engine.Engine) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), stopTimeout)
	defer cancel()
	if err := e.Stop(ctx); err != nil {
		tb.Error(err)
	}
}

// execute runs one statement as the user who may do everything.
func execute(ctx context.Context, instance engine.Instance, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	conn, err := connect(instance, "default")
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// connect connects to a database as the user who may do everything.
func connect(instance engine.Instance, database string) (driver.Conn, error) {
	options, err := clickhouse.ParseDSN(instance.URL(database))
	if err != nil {
		return nil, fmt.Errorf("engine address: %w", err)
	}
	return clickhouse.Open(options)
}

// RequireEngine skips a test where there is no engine to run, and under -short.
func RequireEngine(tb testing.TB) {
	tb.Helper()
	located(tb)
}

// DatabaseURL is the address of a MigratedDatabase in the SharedEngine.
func DatabaseURL(tb testing.TB) string {
	tb.Helper()
	instance := SharedEngine(tb)
	return instance.URL(MigratedDatabase(tb, instance))
}

// EmptyDatabaseURL is the address of an EngineDatabase in the SharedEngine.
func EmptyDatabaseURL(tb testing.TB) string {
	tb.Helper()
	instance := SharedEngine(tb)
	return instance.URL(EngineDatabase(tb, instance))
}
