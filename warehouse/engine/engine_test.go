package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pnyx/test/env"
	"pnyx/warehouse/engine"
)

func TestAnswersOverBothProtocols(t *testing.T) {
	t.Parallel()
	instance := common(t).Instance()
	conn := open(t, instance.URL("default"))
	wantCount(t, conn, "SELECT toUInt64(count()) FROM numbers(10)", 10)
	env.Want(t, instance.User, env.Must(overHTTP(t, instance, instance.User, instance.Password, "SELECT currentUser()"))(t), "current user over HTTP")
	if _, err := overHTTP(t, instance, instance.User, "wrong", "SELECT 1"); err == nil {
		t.Error("wrong password: got access, want an error")
	}
}

func TestQueryLogCountsRowsRead(t *testing.T) {
	t.Parallel()
	instance := common(t).Instance()
	conn := open(t, instance.URL(engine.AnalystDatabase))
	env.Must(overHTTP(t, instance, instance.AnalystUser, instance.AnalystPassword, "SELECT sum(voter) FROM vote"))(t)
	run(t, conn, "SELECT sum(voter) FROM vote SETTINGS log_comment = 'seen'", "SYSTEM FLUSH LOGS")
	wantCount(t, conn, "SELECT count() FROM system.query_log WHERE user = 'analyst'", 0)
	wantCount(t, conn, "SELECT read_rows FROM system.query_log WHERE log_comment = 'seen' AND type = 'QueryFinish'", 3)
	wantCount(t, conn, "SELECT count() FROM system.tables WHERE database = 'system' AND engine = 'MergeTree'", 1)
}

func TestQueryLogForgetsAfterThreeHours(t *testing.T) {
	t.Parallel()
	conn := open(t, common(t).Instance().URL("system"))
	run(t, conn, "SELECT 1 SETTINGS log_comment = 'new'", "SYSTEM FLUSH LOGS",
		"INSERT INTO query_log (event_date, event_time, log_comment) SELECT today(), now() - INTERVAL 3 HOUR, 'old'",
		"OPTIMIZE TABLE query_log FINAL")
	wantCount(t, conn, "SELECT count() FROM query_log WHERE log_comment = 'old'", 0)
	wantCount(t, conn, "SELECT count() FROM query_log WHERE log_comment = 'new' AND type = 'QueryFinish'", 1)
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	options := env.EngineOptions(t)
	options.MaxMemory = 400_000_000
	conn := open(t, start(t, options).Instance().URL("default"))
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	err := conn.Exec(ctx, "SELECT groupArray(number) FROM numbers(100000000) SETTINGS max_bytes_before_external_group_by = 0 FORMAT Null")
	if err == nil || !strings.Contains(err.Error(), "MEMORY_LIMIT_EXCEEDED") && !strings.Contains(err.Error(), "memory limit exceeded") {
		t.Errorf("a query of 800 MB with 400 MB allowed: got %v, want memory limit exceeded", err)
	}
}

func TestFolderHasOneEngine(t *testing.T) {
	t.Parallel()
	options := env.EngineOptions(t)
	options.DataDir = filepath.Join(options.DataDir, "<my> data & more")
	start(t, options)

	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := engine.Start(ctx, options)
	if !errors.Is(err, engine.ErrInUse) {
		t.Fatalf("second start: got %v, want ErrInUse", err)
	}
	today := time.Now().UTC().Format("2006-01-02T")
	for _, part := range []string{options.DataDir, strconv.Itoa(os.Getpid()), today} {
		env.WantPart(t, part, err.Error(), "second start", "does not name")
	}
	if _, err := engine.Find(options.DataDir); err != nil {
		t.Errorf("the first engine after the second start: %v", err)
	}
}

func TestAnEngineWaitsForItsUsersAndAdmitsNoMore(t *testing.T) {
	t.Parallel()
	options := env.EngineOptions(t)
	e := start(t, options)
	files := func() int { return len(env.Must(os.ReadDir(options.DataDir))(t)) }
	before := files()
	found, use, err := engine.Use(options.DataDir)
	env.MustDo(t, err)
	env.Want(t, e.Instance(), found)
	env.Want(t, before, files(), "files in a folder that may be read-only")
	waiting, give := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer give()
	e.AwaitUsers(waiting)
	if waiting.Err() == nil {
		t.Error("the wait for a user ended before its context")
	}
	_, another, err := engine.Use(options.DataDir)
	env.MustDo(t, errors.Join(err, use.Close(), another.Close()))
	e.AwaitUsers(t.Context())
	_, _, err = engine.Use(options.DataDir)
	env.WantError(t, engine.ErrInUse, err, "a user that comes too late")
	stop(t, e)
	_, _, err = engine.Use(options.DataDir)
	env.WantError(t, engine.ErrNotRunning, err, "a user of a stopped engine")
}

func TestStopUnlocksTheFolder(t *testing.T) {
	t.Parallel()
	options := env.EngineOptions(t)
	logs := func(e *engine.Engine) {
		t.Helper()
		conn := open(t, e.Instance().URL("default"))
		run(t, conn, "SELECT 1 SETTINGS log_comment = 'seen'", "SYSTEM FLUSH LOGS")
		wantCount(t, conn, "SELECT count() FROM system.query_log WHERE log_comment = 'seen' AND type = 'QueryFinish'", 1)
	}
	first := start(t, options)
	table(t, first.Instance())
	logs(first)
	env.Want(t, first.Instance(), env.Must(engine.Find(options.DataDir))(t), "find")
	for _, name := range []string{"engine.json", "engine.lock", "engine/server.xml", "engine/users.xml"} {
		env.Want(t, 0o600, env.Must(os.Stat(filepath.Join(options.DataDir, name)))(t).Mode(), name, "a file that its owner alone reads")
	}
	stop(t, first)
	stop(t, first)
	if _, err := engine.Find(options.DataDir); !errors.Is(err, engine.ErrNotRunning) {
		t.Errorf("find after stop: got %v, want ErrNotRunning", err)
	}
	if err := answers(t, first.Instance()); err == nil {
		t.Error("engine after stop: got an answer, want none")
	}
	second := start(t, options)
	logs(second)
	wantCount(t, open(t, second.Instance().URL(engine.AnalystDatabase)), "SELECT count() FROM vote", 3)
}

func TestStopKillsLongQueries(t *testing.T) {
	t.Parallel()
	e := start(t, env.EngineOptions(t))
	busy(t, e.Instance())
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	env.MustDo(t, e.Stop(ctx)) // the query itself never ends
}

func TestPortInUseIsNamed(t *testing.T) {
	t.Parallel()
	taken := env.Must(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer taken.Close()
	options := env.EngineOptions(t)
	options.TCPPort, options.HTTPPort = port(t, taken), freePort(t)
	_, err := engine.Start(t.Context(), options)
	env.WantPart(t, fmt.Sprintf("127.0.0.1:%d", options.TCPPort), fmt.Sprint(err), "start on a taken port")
	env.Until(t, func() error { // a process that another test is starting has the lock until it runs its program
		if _, err := engine.Find(options.DataDir); !errors.Is(err, engine.ErrNotRunning) {
			return fmt.Errorf("find after a failed start: got %w, want ErrNotRunning", err)
		}
		return nil
	})
}

func TestUnusableLibraryIsExplained(t *testing.T) {
	t.Parallel()
	garbage := filepath.Join(t.TempDir(), "libchdb.so")
	env.WriteFile(t, garbage, "no library")
	for name, path := range map[string]string{
		"missing": filepath.Join(t.TempDir(), "nowhere.so"),
		"garbage": garbage,
		"folder":  t.TempDir(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := env.EngineOptions(t)
			options.Program = engine.Program{Library: path}
			_, err := engine.Start(t.Context(), options)
			env.WantPart(t, path, fmt.Sprint(err), "start")
		})
	}
}

func TestShardsFormACluster(t *testing.T) {
	t.Parallel()
	ports := []int{freePort(t), freePort(t)}
	shards := []string{fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])}
	var first engine.Instance
	for i, port := range ports {
		options := env.EngineOptions(t)
		options.TCPPort, options.Shards, options.Password = port, shards, "<shared> & escaped"
		instance := start(t, options).Instance()
		run(t, open(t, instance.URL("default")),
			"CREATE DATABASE pnyx",
			"CREATE TABLE pnyx.part (n UInt64) ENGINE = MergeTree ORDER BY n")
		if i == 0 {
			first = instance
		}
	}
	conn := open(t, first.URL("pnyx"))
	run(t, conn, "CREATE TABLE whole AS part ENGINE = Distributed("+engine.ClusterName+", pnyx, part, n)",
		"INSERT INTO whole SELECT number FROM numbers(100)")
	wantCount(t, conn, "SELECT count() FROM whole", 100)
	wantCount(t, conn, "SELECT count() FROM part", 50)
}

// busy starts a query that does not end, and returns when it runs.
func busy(t *testing.T, instance engine.Instance) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		got, err := overHTTP(t, instance, instance.User, instance.Password,
			"SELECT count() FROM numbers(1000000000000000) SETTINGS max_threads = 1, log_comment = 'long'")
		if err == nil {
			t.Errorf("long query: got %q, want an error", got)
		}
	}()
	t.Cleanup(func() { <-ended })
	conn := open(t, instance.URL("default"))
	env.Until(t, func() error {
		n, err := count(t.Context(), conn, "SELECT count() FROM system.processes WHERE Settings['log_comment'] = 'long'")
		if err == nil && n == 0 {
			err = errors.New("the long query does not run")
		}
		return err
	})
}

// answers returns nil if the engine answers: another that was given its port has another
// password.
func answers(t *testing.T, i engine.Instance) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	return open(t, i.URL("default")).Ping(ctx)
}

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	return env.Must(strconv.Atoi(env.Free(t)))(t)
}

func port(t *testing.T, listener net.Listener) int {
	t.Helper()
	addr := env.Must(netip.ParseAddrPort(listener.Addr().String()))(t)
	return int(addr.Port())
}
