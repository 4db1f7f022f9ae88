package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/governance"
	"pnyx/reference/client"
	"pnyx/test/env"
)

// dayOne is the example that keeps a copy of a DAO, in one language, as it runs.
type dayOne struct {
	*instance

	language client.Language
	plan     string
	began    time.Time
	// copied is the SQLite database that the example keeps, exports the folder of its Parquet.
	copied, exports string
	alerts          *mailbox
	// requests counts its requests, and refused the 429 among them.
	requests, refused atomic.Int64
}

// startDayOne runs the example on the DAO a.eth every second, with a receiver of alerts.
func (i *instance) startDayOne(t *testing.T, language client.Language, plan string, program []string) *dayOne {
	t.Helper()
	issued := issueToken(t, i.Environ, "--name", string(language), "--plan", plan, "--scopes", "v2:paid:plus")
	i.awaitToken(issued.Token)
	dir := t.TempDir()
	d := &dayOne{
		instance: i, language: language, plan: plan, began: time.Now(),
		copied: filepath.Join(dir, "copy"), exports: filepath.Join(dir, "parquet"), alerts: newMailbox(t),
	}
	env.MustRun(t, i.Environ, "webhook", "add", "--token", issued.ID, "--url", d.alerts.url, "--types", "event.*")
	node := env.Must(url.Parse(i.URL))(t)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(node) },
		ModifyResponse: func(r *http.Response) error {
			d.requests.Add(1)
			if r.StatusCode == http.StatusTooManyRequests {
				d.refused.Add(1)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	program = slices.Concat(program, []string{server.URL, "a.eth", d.copied, "1", d.exports})
	env.NewProcess(t, program[0], []string{"PNYX_TOKEN=" + issued.Token}, program[1:]...).Start()
	return d
}

// wantKept waits until the copies of programs, and what DuckDB reads, equal the walk of all lists.
func (i *instance) wantKept(running []*dayOne) {
	i.TB.Helper()
	var next int64
	var err error
	env.Within(i.TB, clientTime, func() error {
		asked := int64(0)
		for _, program := range running {
			asked += program.requests.Load()
		}
		if asked < next {
			return err
		}
		next = asked + int64(len(running))
		var walked map[string]string
		if walked, err = walkDAO(i, "a.eth"); err == nil {
			err = compareCopies(i.TB.Context(), running, walked)
		}
		if err == nil {
			err = compareExports(i.TB.Context(), running, walked)
		}
		return err
	})
}

// compareCopies holds what the copies of programs have against the lines of a walk.
func compareCopies(ctx context.Context, running []*dayOne, walked map[string]string) error {
	const read = "import sqlite3, sys\nfor path in sys.argv[1:]:\n for row in sqlite3.connect(path).execute(" +
		"\"SELECT rtrim(kind || ' ' || key || ' ' || voter), data FROM rows\"): print(path, *row, sep='\\t')"
	command, want, held := []string{"-c", read}, map[string]any{}, map[string]map[string]any{}
	for _, program := range running {
		command = append(command, program.copied)
		held[program.copied] = map[string]any{}
	}
	out, err := exec.CommandContext(ctx, "python3", command...).Output()
	if err != nil {
		return fmt.Errorf("read the copies: %w", err)
	}
	for key, line := range walked {
		want[key] = env.Plain(json.RawMessage(line))
	}
	for line := range strings.Lines(string(out)) {
		row := strings.Split(line, "\t")
		held[row[0]][row[1]] = env.Plain(json.RawMessage(row[2]))
	}
	for _, program := range running {
		if diff := cmp.Diff(want, held[program.copied]); diff != "" || len(want) < 70 {
			return fmt.Errorf("%s: the copy differs from the walk of %d rows: %.2000s", program.language, len(want), diff)
		}
	}
	return nil
}

// compareExports lets DuckDB read the latest exports of programs.
func compareExports(ctx context.Context, running []*dayOne, walked map[string]string) error {
	var files []string
	for _, program := range running {
		exports, err := filepath.Glob(program.exports + "/*")
		if err != nil || len(exports) == 0 {
			return fmt.Errorf("%s: got %d exports and %w, want some", program.language, len(exports), err)
		}
		latest, err := filepath.Glob(exports[len(exports)-1] + "/*")
		if err != nil || len(latest) == 0 {
			return fmt.Errorf("%s: got %d files and %w, want some", program.language, len(latest), err)
		}
		files = append(files, latest...)
	}
	return compareDuckDB(ctx, files, walked)
}

// wantAlerts waits until the receiver has got every event of this week.
func (d *dayOne) wantAlerts(t *testing.T) {
	t.Helper()
	env.Until(t, func() error {
		events, err := d.Walk("/v2/events?daoId=a.eth&"+thisWeek(), 200)
		missing := map[string]bool{}
		for _, event := range events {
			missing[idOf(t, event, "eventId")] = true
		}
		for _, alert := range d.alerts.got() {
			delete(missing, alert.ID)
		}
		if err != nil || len(events) < 3 || len(missing) > 0 {
			return fmt.Errorf("%s: %d of %d events did not come: %v, %w", d.language, len(missing), len(events), missing, err)
		}
		return nil
	})
}

// wantChangesAfter waits until a cursor leads to changes of proposals. It must not expire.
func (i *instance) wantChangesAfter(cursor string, keys ...string) {
	i.TB.Helper()
	seen := map[string]bool{}
	env.Until(i.TB, func() error {
		var rows []governance.Change
		answer, err := i.Ask("/v2/changes?cursor="+url.QueryEscape(cursor), &rows)
		if err != nil {
			return err
		}
		if answer.Status == http.StatusGone {
			i.TB.Fatalf("a cursor from before restarts: got %s", answer.Error.Code)
		}
		if answer.Status == http.StatusOK {
			cursor = *answer.Meta.Page.NextCursor
		}
		for _, row := range rows {
			seen[row.Key] = true
		}
		for _, key := range keys {
			if !seen[key] {
				return fmt.Errorf("got %d %v after a cursor, want %s, too", answer.Status, seen, key)
			}
		}
		return nil
	})
}

// dayOneChanges are the changes of a round: the service restarts in order and killed, with its Redis.
func (i *instance) dayOneChanges(round int) []func() {
	voter, open, over := 30+2*round, fmt.Sprint("open", round), fmt.Sprint("over", round)
	return []func(){
		func() {},
		func() { i.ImportLines(castBallots("two", voter, voter+1)...) },
		func() { // a restart
			i.Stop()
			i.ImportLines(castBallots("two", voter+1, voter+2)...)
			i.Start()
			i.ready()
		},
		func() { i.ImportLines(voteUntil(open, "T", "active", 20*time.Hour)) },
		func() { // a crash, as the ballot is being published
			i.ImportLines(recentBallot(open, 1, 1, "10.000000000000000001"))
			i.Kill()
			i.ImportLines(recentBallot(open, 2, 2, "3"))
			i.Start()
			i.ready()
		},
		func() {
			i.ImportLines(recentVote(over, "T"))
			i.ImportLines(recentBallot(over, 1, 1, "7"))
		},
	}
}

// Programs keep copies of a DAO while it changes and the service restarts, for PNYX_TEST_DAY_ONE or a round.
func TestLongDayOne(t *testing.T) {
	t.Parallel()
	env.Program(t, "redis-server", "PNYX_TEST_REQUIRE_REDIS")
	if _, err := os.Stat("npm/node_modules/.package-lock.json"); err != nil {
		t.Skip("no DuckDB: make npm")
	}
	began := time.Now()
	fresh := env.Must(time.ParseDuration("0s" + os.Getenv("PNYX_TEST_DAY_ONE")))(t)
	i := startShared(t, []string{"PNYX_WEBHOOK_RECEIVERS=private"}, "serve").ready()
	i.ImportLines(goodSpace)
	i.ImportLines(proposalLine("a.eth", "one"), proposalLine("a.eth", "two"))
	i.ImportLines(append(castBallots("one", 0, 40), castBallots("two", 0, 30)...)...)
	i.AwaitPublished()
	var running []*dayOne
	for _, language := range client.Languages() {
		if _, err := os.Stat(clientFolder + "/node_modules/.bin/tsc"); err != nil && language == client.TypeScript {
			t.Log("no node_modules: make npm")
			continue
		}
		program := newPrograms(t, language).prepare(t, examples, "dayone")
		for _, plan := range []string{"developer", "business"} {
			running = append(running, i.startDayOne(t, language, plan, program))
		}
	}
	answer := env.Must(i.Read("/v2/changes", new([]governance.Change)))(t)
	cursor := *answer.Meta.Page.NextCursor
	for round := 0; round == 0 || time.Since(began) < fresh; round++ {
		for _, change := range i.dayOneChanges(round) {
			change()
			i.AwaitPublished()
			i.wantKept(running)
		}
		i.wantChangesAfter(cursor, proposalKey("a.eth", "two"), proposalKey("a.eth", fmt.Sprint("open", round)), proposalKey("a.eth", fmt.Sprint("over", round)))
	}
	for _, program := range running {
		program.wantAlerts(t)
		exports, err := filepath.Glob(program.exports + "/*")
		if err != nil || len(exports) < 5 || program.refused.Load() > 0 {
			t.Errorf("%s on %s: got %d exports (%v), want five, and %d refusals, want none",
				program.language, program.plan, len(exports), err, program.refused.Load())
		}
		t.Logf("%s on %s: %d requests, %d exports, %d alerts, %s", program.language, program.plan, program.requests.Load(),
			len(exports), len(program.alerts.got()), time.Since(program.began).Round(time.Second))
	}
}
