package e2e_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pnyx/test/env"
)

func TestDemoAnswersAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	dir := t.TempDir()
	first := start(t, dir, nil, "serve", "--demo").ready()
	var before []struct {
		DAOID          string `json:"daoId"`
		ProposalCounts struct{ Total int }
	}
	first.Get("/v2/daos?limit=100", &before)
	if len(before) < 10 {
		t.Errorf("got %d DAOs, want the demonstration's dozen", len(before))
	}
	const tooLate = "The first publication is still under way." // on a very busy machine
	env.Until(t, func() error {
		if out := first.Output.String(); !strings.Contains(out, "Try:") && !strings.Contains(out, tooLate) {
			return fmt.Errorf("no lines to try in %s", out)
		}
		return nil
	})
	if strings.Contains(first.Output.String(), tooLate) {
		t.Skip(tooLate)
	}
	urls := regexp.MustCompile(`curl -s '([^']+)'`).FindAllStringSubmatch(first.Output.String(), -1)
	env.Want(t, 3, len(urls), "curl lines")
	for _, match := range urls {
		if status, body, err := env.Fetch(match[1]); status != http.StatusOK {
			t.Errorf("%s: %d %v %s", match[1], status, err, body)
		}
	}
	if with := regexp.MustCompile(`curl -s -H 'x-service-api-token: ([^']+)' '` + first.URL + `([^']+)'`).FindStringSubmatch(first.Output.String()); with == nil {
		t.Errorf("no token to try in %s", first.Output)
	} else if status, body := first.statusOf(with[2], with[1]); status != http.StatusOK {
		t.Errorf("with the printed token: %d %s", status, body)
	}
	issued := issueToken(t, first.Environ, "--name", "ACME", "--plan", "business", "--scopes", "v2:paid:*")
	if status, body := first.statusOf("/v2/meta/usage", issued.Token); status == http.StatusUnauthorized {
		t.Errorf("a token that was just issued, on an embedded Redis: %d %s", status, body)
	}
	first.Stop()
	env.Want(t, 0, first.ExitCode(), "SIGTERM", "exit status")
	if left, err := filepath.Glob(filepath.Join(dir, "redis.url")); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v, want no address of a Redis that has ended", left, err)
	}

	env.MustRun(t, first.Environ, "token", "revoke", issued.ID)
	second := start(t, dir, nil, "serve", "--demo").ready()
	if status, body := second.statusOf("/v2/meta/usage", issued.Token); status != http.StatusUnauthorized {
		t.Errorf("a token that was revoked in between: got %d %s, want 401", status, body)
	}
	env.Until(t, func() error {
		if out := second.Output.String(); strings.Contains(out, "redis-server ready") && !strings.Contains(out, "Redis was restarted") {
			return fmt.Errorf("got %s, want that Redis had what was published", out)
		}
		return nil
	})
	after := before[:0:0]
	second.Get("/v2/daos?limit=100", &after)
	if fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("after the restart: got %v, want %v", after, before)
	}
	if strings.Contains(second.Output.String(), "Loading") {
		t.Error("the demonstration was loaded a second time")
	}
}

func TestLongDemoThatWasKilledWhileItLoadedIsLoadedAtTheNextStart(t *testing.T) {
	t.Parallel()
	url := env.DatabaseURL(t)
	environ := []string{"CLICKHOUSE_URL=" + url, "PNYX_IMPORT_BATCH=100"}
	conn := env.ConnectWarehouse(t, url)
	i := start(t, t.TempDir(), environ, "serve", "--demo")
	env.Until(t, func() error {
		// The tables are made by the start, so that the first tries fail.
		var loaded uint64
		if err := conn.QueryRow(t.Context(), "SELECT count() FROM ballots").Scan(&loaded); err != nil || loaded == 0 {
			return fmt.Errorf("no ballot is loaded yet: %w", err)
		}
		return nil
	})
	i.Kill()
	i.Start()
	i.ready()
	undisturbed := startShared(t, nil, "serve", "--demo").ready()
	const counts = `SELECT toString(tuple(
		(SELECT count() FROM daos FINAL), (SELECT count() FROM proposals FINAL),
		(SELECT count() FROM topics FINAL), (SELECT count() FROM latest_ballots)))`
	if got, want := i.Column(counts), undisturbed.Column(counts); !slices.Equal(got, want) {
		t.Errorf("DAOs, proposals, topics and ballots: got %v, want %v", got, want)
	}
}

func TestRolesNameTheMissingServer(t *testing.T) {
	t.Parallel()
	closed := env.FreeAddress(t)
	for _, c := range []struct {
		environ []string
		args    []string
		want    string
	}{
		{nil, []string{"api"}, "REDIS_URL"},
		{[]string{"REDIS_URL=redis://127.0.0.1:1"}, []string{"worker"}, "CLICKHOUSE_URL"},
		{[]string{"CLICKHOUSE_URL=clickhouse://127.0.0.1:1"}, []string{"worker"}, "REDIS_URL"},
		{[]string{"CLICKHOUSE_URL=clickhouse://u:hidden@" + closed}, []string{"import", "."}, closed},
		{[]string{"PNYX_LISTEN=nonsense"}, []string{"serve"}, "PNYX_LISTEN"},
		{nil, []string{"unknown"}, "unknown"},
	} {
		environ := append([]string{"PNYX_ADMIN_LISTEN=127.0.0.1:0"}, c.environ...)
		out, status := env.Run(t, environ, c.args...)
		if status != 1 || !strings.Contains(out, c.want) || strings.Contains(out, "hidden") {
			t.Errorf("%v %v: got status %d and %q, want 1 and %q", c.environ, c.args, status, out, c.want)
		}
	}
}

func TestWorkerWaitsForItsWarehouseAndLogsIt(t *testing.T) {
	t.Parallel()
	closed := env.FreeAddress(t)
	environ := []string{"CLICKHOUSE_URL=clickhouse://u:hidden@" + closed, "REDIS_URL=redis://" + env.FreeAddress(t)}
	for _, args := range [][]string{{"worker"}, {"worker", "--fills-only"}} {
		worker := start(t, t.TempDir(), environ, args...)
		worker.AwaitProbe("/healthz", http.StatusOK, "ok")
		worker.AwaitProbe("/startedz", http.StatusServiceUnavailable, "")
		env.Until(t, func() error {
			if out := worker.Output.String(); strings.Count(out, closed) < 2 || strings.Contains(out, "hidden") {
				return fmt.Errorf("got %q, want the address, again and again, and no password", out)
			}
			return nil
		})
	}
}

func TestDataFolderHasOneOwnerAndItsSQLCommandReadsOnly(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret.txt")
	env.WriteFile(t, secret, "hidden")
	file := filepath.Join(dir, "query.sql")
	env.WriteLines(t, file, "-- a comment", "SELECT 3 + 4 AS seven;")
	data := filepath.Join(dir, "data")
	environ := []string{"PNYX_DATA=" + data}
	env.MustRun(t, environ, "migrate")
	env.Want(t, "\"a\"\n1\n", env.MustRun(t, environ, "sql", "--format", "csv", "SELECT 1 AS a"), "on an engine of the command's own", "a column with a row")
	owner := start(t, data, []string{"PNYX_DRAIN_DELAY=1h"}, "serve").ready()
	out, status := env.Run(t, append(environ, "PNYX_LISTEN="+env.FreeAddress(t), "PNYX_ADMIN_LISTEN="+env.FreeAddress(t)), "serve")
	if status != 1 || !strings.Contains(out, fmt.Sprint(owner.PID())) || !strings.Contains(out, data) {
		t.Errorf("another serve: got status %d and %q, want 1 and the folder with process %d", status, out, owner.PID())
	}
	// The commands use the engine that runs in the folder: none has to start its own.
	for _, c := range []struct {
		args   []string
		want   string
		status int
	}{
		{[]string{"sql", "SELECT toDecimal256('0.000000000000000001', 18) AS power, 'a' AS name"}, "0.000000000000000001", 0},
		{[]string{"sql", "--format", "csv", "SELECT 1 AS a, 'x,y' AS b, [1, 2] AS c"}, "\"a\",\"b\",\"c\"\n1,\"x,y\",\"[1,2]\"\n", 0},
		{
			[]string{"sql", "--format", "json", "SELECT 1 AS a, 'x' AS b, [1, 2] AS c, toDecimal256('0.000000000000000001', 18) AS d"},
			`{"a":1,"b":"x","c":[1,2],"d":"0.000000000000000001"}` + "\n", 0,
		},
		{[]string{"sql", "--format", "markdown", "SELECT 'x|y' AS a"}, "| x\\|y |", 0},
		{[]string{"sql", "--format", "TSVWithNamesAndTypes", "SELECT [1, 2] AS c"}, "c\nArray(UInt8)\n[1,2]\n", 0},
		{[]string{"sql", "--format", "csv", "SELECT [1, 2] AS c FORMAT JSONCompactEachRow"}, "[[1,2]]\n", 0},
		{[]string{"sql", "SELECT ('a', toDecimal256('0.1', 18)), [1, 2] AS list, map('k', 1) AS m, NULL AS nothing"}, "│ [1,2] │ {'k':1} │", 0},
		{[]string{"sql", "SELECT '\x1b[31mred\u009b' AS title"}, `│ \x1b[31mred\u009b`, 0},
		{[]string{"sql", "--file", file}, "│     7 │", 0},
		{[]string{"sql", "--file", file, "SELECT 1"}, "either a query or --file", 1},
		{[]string{"sql", "--file", file + ".not"}, "no such file", 1},
		{[]string{"sql", "--format", "nothing", "SELECT 1"}, "Unknown format nothing", 1},
		{[]string{"sql", "SELECT count() FROM ballots"}, "0", 0},
		{[]string{"sql", "SELEC 1"}, "Syntax error", 1},
		{[]string{"sql", "--format", "csv", "SELECT throwIf(number = 900000), number FROM numbers(1000000)"}, "throwIf", 1},
		{[]string{"sql", "--format", "csv", "SELECT number FROM numbers(1000001)"}, "TOO_MANY_ROWS", 1},
		{[]string{"sql", "INSERT INTO daos (dao_id) VALUES ('x')"}, "", 1},
		{[]string{"sql", "DROP TABLE daos"}, "", 1},
		{[]string{"sql", "SELECT * FROM file('" + secret + "', LineAsString, 'line String')"}, "", 1},
		{[]string{"sql", "SELECT * FROM url('" + "http://127.0.0.1:1/" + "', CSV, 'a String')"}, "", 1},
	} {
		out, status := env.Run(t, environ, c.args...)
		if status != c.status || !strings.Contains(out, c.want) || strings.Contains(out, "hidden") {
			t.Errorf("%v: got status %d and %.2000q, want %d and %q", c.args, status, out, c.status, c.want)
		}
		if said := strings.Count(out, "pnyx: "); said != status || strings.Contains(out, "__exception__") {
			t.Errorf("%v: got %d errors in %.2000q, want %d", c.args, said, out, status)
		}
	}
	owner.drains(t)
}
