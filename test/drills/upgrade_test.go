package drills

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pnyx/governance"
	"pnyx/test/env"
)

const (
	// upgradeRate is how many requests a second are sent.
	upgradeRate = 30
	// maxRefusedShare bounds the requests of a step that are refused. Only the detail of the DAO that is voted on
	// may be, while everything is published: a third of the tenth of requests about the poll, and some chance.
	maxRefusedShare = 0.05
	// votesEnding is how many votes end during the test, one in votesEndInterval.
	votesEnding, votesEndInterval = 40, 12 * time.Second
)

// upgrade is a deployment that runs an earlier version, and the one under test, under load.
type upgrade struct {
	*deployment

	// tokenID names the token that all of the load is sent with.
	tokenID string

	// earlier and later are the programs.
	earlier, later string
	// ending are the keys of votes, by when they end.
	ending map[governance.ProposalKey]time.Time
	// rows are the rows of the report.
	rows []string

	payer    *payer
	stopBusy func()
	// first is set for 0.1.0, whose cursors are its own. walks counts lists read on elsewhere, or begun again.
	first bool
	walks struct{ wentOn, begunAgain int }
}

// TestUpgrade runs the version of PNYX_TEST_UPGRADE_FROM, the one under test, the earlier one again and the later
// one again on the same data under load. No request is without an answer and no answer is wrong, and quotas and
// payments are kept.
func TestUpgrade(t *testing.T) {
	report := gate(t, "PNYX_TEST_UPGRADE", "make test-upgrade")
	earlier := env.EarlierProgram(t)
	var rows []string
	for _, layout := range []struct {
		name    string
		options deploymentOptions
	}{
		{"one server, one Redis", deploymentOptions{}},
		{"two shards, a Redis Cluster", deploymentOptions{shards: true, cluster: true}},
	} {
		t.Run(layout.name, func(t *testing.T) {
			o := layout.options
			o.workers, o.apis, o.front, o.program = 2, 2, true, earlier
			o.environ = []string{
				"PNYX_CACHE_TIMEOUT=2s", "PNYX_LIMIT_TIMEOUT=2s", "PNYX_REQUEST_TIMEOUT=15s", // ten processes share the machine
			}
			u := openUpgrade(t, o)
			u.play("earlier version", func() { wait(t.Context(), 2*calmPeriod) })
			u.play("migrated", func() { u.migrate(u.later) })
			walks := u.beginWalks()
			u.play("upgraded", func() { u.roll(u.later) })
			u.endWalks(walks)
			walks = u.beginWalks()
			if u.first { // it shows what it has left in Redis as ready, until it has published it again
				u.poll.allow(recoveryTimeout)
			}
			u.play("rolled back", func() { u.migrate(u.earlier); u.roll(u.earlier) })
			u.poll.allow(readyMeans)
			u.endWalks(walks)
			u.play("upgraded again", func() { u.migrate(u.later); u.roll(u.later) })
			u.finish()
			for _, row := range u.rows {
				rows = append(rows, "| "+layout.name+" | "+row)
			}
		})
	}
	if report == "-" || t.Failed() {
		return
	}
	env.WantError(t, nil, writeUpgrades(report, rows))
}

// openUpgrade starts the earlier version with data that it imports itself, and the load.
func openUpgrade(t *testing.T, o deploymentOptions) *upgrade {
	t.Helper()
	w := &dataset{data: filepath.Join(t.TempDir(), "none"), earlier: true}
	u := &upgrade{deployment: newDeployment(t, w, o), earlier: o.program, later: env.Binary(t)}
	u.first = !strings.Contains(u.must("--help"), "\n  backup ")
	generated := filepath.Join(t.TempDir(), "generated") // by the version that reads it
	if out, status := env.RunProgram(t, u.earlier, nil, "generate", "--now", "2026-06-01T00:00:00Z", "--daos", "6", "--proposals", "60",
		"--ballots", "4000", "--largest", "1500", generated); status != 0 {
		t.Fatalf("generate: %d %s", status, out)
	}
	u.importFiles(generated)
	u.importLines(pollLines...)
	_, w.token = u.issue()
	u.open()
	u.awaitStill()
	w.record(t, u.apis[0])
	t.Logf("%s questions", w)
	u.importEnding()
	// The load has a token of its own, because other requests are metered as well.
	id, token := u.issue()
	u.tokenID = id
	env.Within(t, readyTimeout, func() error { return u.knows(token) })
	u.poll = w.poll.begin()
	u.load = newLoad(t, w, u.poll, upgradeRate, drillCold, u.bases()...)
	u.load.token = token
	u.load.start()
	u.payer = newPayer(t, u.load, u.ledger)
	u.stopBusy = u.busy(u.payer)
	return u
}

// awaitStill waits until the feed of the earlier version states the same twice.
func (u *upgrade) awaitStill() {
	u.tb.Helper()
	before := ""
	env.Within(u.tb, readyTimeout, func() error {
		now := ""
		for _, path := range []string{"/v2/events?from=2026-03-10&to=2026-06-01", "/v2/signals?from=2026-03-10&to=2026-06-01"} {
			r := ask(u.apis[0].base+path+"&limit=100", u.dataset.headers())
			if r.transport != nil || r.status != http.StatusOK {
				return fmt.Errorf("GET %s: %d %w %s", path, r.status, r.transport, r.text)
			}
			now += string(r.Data)
		}
		if wait(u.tb.Context(), calmPeriod); now != before {
			before = now
			return errors.New("events or signals are still added")
		}
		return nil
	})
}

// importEnding imports votes that end one after the other.
func (u *upgrade) importEnding() {
	u.tb.Helper()
	u.ending = map[governance.ProposalKey]time.Time{}
	now := time.Now().Truncate(time.Second)
	var lines []string
	for n := range votesEnding {
		id := fmt.Sprint("0xending", n)
		ends := now.Add(time.Duration(n+1) * votesEndInterval)
		key := governance.Identity{DAOID: pollDAO, Provider: governance.Snapshot, ExternalID: id}.ProposalKey()
		u.ending[key] = ends
		lines = append(lines, fmt.Sprintf(`{"id":%q,"space":{"id":%q},"author":"0xA","type":"single-choice","title":"Ending %d",`+
			`"choices":["Red","Green"],"created":%d,"start":%d,"end":%d,"state":"active"}`,
			id, pollSpace, n, now.Unix()-3600, now.Unix()-3600, ends.Unix()))
	}
	path := filepath.Join(u.dir, "ending.ndjson")
	env.WriteLines(u.tb, path, lines...)
	u.importFiles(path)
}

// migrate runs the command of a version that migrates, and uses that version from then on.
func (u *upgrade) migrate(program string) {
	u.tb.Helper()
	u.program.Store(&program)
	u.tb.Log(strings.TrimSpace(u.must("migrate")))
}

// roll replaces every process: one worker, so that both versions have some, the nodes, the other worker.
func (u *upgrade) roll(program string) {
	u.tb.Helper()
	u.replace(u.workers[0], program)
	for _, n := range u.apis {
		u.replace(n, program)
	}
	u.replace(u.workers[1], program)
}

func (u *upgrade) replace(n *node, program string) {
	u.tb.Helper()
	n.Stop()
	n.Process = env.NewProcess(u.tb, program, n.environ, n.role)
	n.Start()
	n.ready()
}

// play does something, waits until every node shows what came since, and adds a row to the report.
func (u *upgrade) play(what string, happen func()) {
	u.tb.Helper()
	before, began := u.load.tally(), time.Now()
	happen()
	u.recovered(time.Now())
	wait(u.tb.Context(), calmPeriod)
	by := time.Now() // further ones end meanwhile
	for _, n := range u.apis {
		env.Within(u.tb, recoveryTimeout, func() error { return u.showsEnded(n, by) })
	}
	after := u.load.tally()
	if after.wrong+after.broken > 0 {
		u.tb.Fatalf("%s: wrong, or without an answer:\n%s", what, strings.Join(u.load.problems, "\n"))
	}
	if refusals := u.load.takeRefusals(); refusals != "" {
		u.tb.Logf("%s: refused were\n%s", what, refusals)
	}
	if sent, refused := after.requests-before.requests, after.refused-before.refused; float64(refused) > maxRefusedShare*float64(sent) {
		u.tb.Errorf("%s: %d of %d requests were refused, want %.0f %% at most", what, refused, sent, 100*maxRefusedShare)
	}
	u.rows = append(u.rows, fmt.Sprintf("%s | %d | %d | %d | %d | %d | %.0f s |", what, after.requests-before.requests,
		after.wrong-before.wrong, after.refused-before.refused, after.broken-before.broken, after.stale-before.stale,
		time.Since(began).Seconds()))
}

// showsEnded reports whether a node shows each vote as ended that has by a time.
func (u *upgrade) showsEnded(n *node, by time.Time) error {
	for key, ends := range u.ending {
		if ends.After(by) {
			continue
		}
		r := ask(n.base+"/v2/proposals/"+string(key), u.dataset.headers())
		var proposal struct{ LifecycleStatus governance.Lifecycle }
		if err := errors.Join(r.transport, json.Unmarshal(r.Data, &proposal)); err != nil {
			return err
		}
		if proposal.LifecycleStatus != governance.Closed {
			return fmt.Errorf("%s ended at %s, got %s", key, ends, proposal.LifecycleStatus)
		}
	}
	return nil
}

// begunList is a list of which a caller has read the first page.
type begunList struct {
	path string
	rows int
	next string
}

// beginWalks reads the first page of each list that has several.
func (u *upgrade) beginWalks() (walks []begunList) {
	u.tb.Helper()
	for _, q := range u.dataset.cold {
		if q.next == "" {
			continue
		}
		rows, next := u.page(q.path)
		walks = append(walks, begunList{q.path, len(rows), next})
	}
	if len(walks) == 0 {
		u.tb.Fatal("no list has two pages")
	}
	return walks
}

// page reads a page of a list.
func (u *upgrade) page(path string) (rows []json.RawMessage, next string) {
	u.tb.Helper()
	env.Within(u.tb, readyTimeout, func() error {
		r := ask(u.front+path, u.dataset.headers())
		if r.transport != nil || r.status != http.StatusOK || r.Meta.Page == nil {
			return fmt.Errorf("GET %s: %d %w %s", path, r.status, r.transport, r.text)
		}
		if next = ""; r.Meta.Page.NextCursor != nil {
			next = *r.Meta.Page.NextCursor
		}
		return json.Unmarshal(r.Data, &rows)
	})
	return rows, next
}

// endWalks goes on with walks of another version: the next page follows, or, with 0.1.0, a 400.
func (u *upgrade) endWalks(walks []begunList) {
	u.tb.Helper()
	for _, w := range walks {
		_, next := u.page(w.path)
		want, _ := u.page(w.path + "&cursor=" + url.QueryEscape(next))
		if u.first {
			if r := ask(u.front+w.path+"&cursor="+url.QueryEscape(w.next), u.dataset.headers()); r.status != http.StatusBadRequest {
				u.tb.Errorf("GET %s with a cursor of another version: got %d, want 400", w.path, r.status)
			}
			u.walks.begunAgain++
			continue
		}
		got, _ := u.page(w.path + "&cursor=" + url.QueryEscape(w.next))
		// Where one version hides a row, its pages end with one more of those that follow.
		in := func(rows []json.RawMessage, row json.RawMessage) bool {
			return slices.ContainsFunc(rows, func(other json.RawMessage) bool { return env.SameJSON(other, row) })
		}
		all := want
		want = slices.DeleteFunc(slices.Clone(want), func(row json.RawMessage) bool { return !in(got, row) })
		got = slices.DeleteFunc(got, func(row json.RawMessage) bool { return !in(all, row) })
		if len(all)-len(want) > 1 {
			u.tb.Errorf("GET %s: the pages after the cursors of two versions have %d of %d rows in common", w.path, len(want), len(all))
		}
		if diff := env.DiffJSON(want, got); diff != "" {
			u.tb.Errorf("GET %s, after the first %d rows (-as it is, +after the cursor of another version):\n%s", w.path, w.rows, diff)
		}
		u.walks.wentOn++
	}
}

// finish ends the load, and compares what it was charged and what it paid with what it got.
func (u *upgrade) finish() {
	u.tb.Helper()
	u.stopBusy()
	u.load.stop()
	u.payer.settle(u.apis[0].base)
	env.Want(u.tb, u.metered(), u.used(), "answers of the month that are used")
	u.load.askEverything()
	transfers := len(u.ledger.Transfers())
	env.Want(u.tb, transfers, u.payer.bought, "payments that were answered, of", transfers)
	env.Within(u.tb, recoveryTimeout, func() error {
		if settled := strings.Count(u.must("payments", "list", "--state", "settled", "--limit", "1000"), "settled"); settled < transfers {
			return fmt.Errorf("%d of %d payments are in the ledger", settled, transfers)
		}
		return nil
	})
	u.rows = append(u.rows, fmt.Sprintf("%d answers charged, %d payments, %d lists read on in another version, %d begun again, %d answers of this version differ on purpose | | | | | |",
		u.used(), u.payer.bought, u.walks.wentOn, u.walks.begunAgain, u.differing()))
}

// differing counts the questions that this version answers otherwise than the earlier one.
func (u *upgrade) differing() (count int) {
	w := u.dataset
	for _, q := range slices.Concat(w.free, w.paid, w.cold) {
		if q.later.data != nil {
			count++
		}
	}
	return count
}

// writeUpgrades writes the report.
func writeUpgrades(path string, rows []string) error {
	const head = `<!-- Written by make test-upgrade: change the program, not this file. -->
# Upgrades under load

` + "`make test-upgrade`" + ` runs version %s, this version, the earlier one again and this one again on the same data, as
[production.md](../../docs/production.md#upgrade) describes: one worker first, then the API nodes one after the other behind nginx, then the other
worker. Meanwhile %d requests a second are compared with the answers of the earlier version, to which this one may only add, or give one
other answer throughout where its rules are others; a ballot is imported every second, votes end by the clock, and a payment is made every %s. At the end of each step every node has to show what
was imported and what has ended. All answers are charged once, and every payment is answered and in the ledger.

*Wrong*, *refused* and *unanswered* are as in [drills.md](drills.md): a DAO whose ballots change while a new Redis format is published for
the first time may be 503 for some seconds, and more than one request in twenty that is refused fails the test. Lists that were begun in
one version are read on in the other; with a cursor of or for 0.1.0 they get 400, and are begun again. On %s, on %d cores shared with other work:

| layout | step | requests | wrong | refused | unanswered | marked stale | took |
|---|---|---:|---:|---:|---:|---:|---:|
`
	from := cmp.Or(os.Getenv("PNYX_TEST_UPGRADE_NAME"), os.Getenv("PNYX_TEST_UPGRADE_FROM"))
	text := fmt.Sprintf(head, from, upgradeRate, payInterval, time.Now().UTC().Format(time.DateOnly), runtime.NumCPU())
	return os.WriteFile(path, []byte(text+strings.Join(rows, "\n")+"\n"), 0o600)
}
