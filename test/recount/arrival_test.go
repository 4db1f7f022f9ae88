package recount_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/test/env"
)

// smallProposal is a small proposal whose ballots the test makes up.
type smallProposal struct {
	*poll
}

func newSmallProposal() smallProposal {
	return smallProposal{&poll{
		daoID: "a.eth", provider: "snapshot", externalID: "0xp", kind: "single-choice",
		keys: []string{"1", "2"}, labels: []string{"For", "Against"},
	}}
}

// addBallot adds a ballot and returns it as upstream publishes it.
func (r smallProposal) addBallot(id, voter string, at *time.Time, tokens int64) string {
	power := powerOf(exact(strconv.FormatInt(tokens, 10)))
	reason := strings.Repeat("né ", len(r.casts)%3*200) + strings.Repeat("!", len(r.casts)%3) // none, 601 and 1,202 characters
	r.casts = append(r.casts, cast{id: id, voter: voter, at: at, choice: json.RawMessage("1"), power: power, reason: reason})
	r.ballots = latest(r.casts)
	created := "null"
	if at != nil {
		created = strconv.FormatInt(at.Unix(), 10)
	}
	return fmt.Sprintf(`{"id":%q,"proposal":{"id":"0xp"},"space":{"id":"a.eth"},"voter":%q,"created":%s,"choice":1,"vp":%d,"reason":%q}`,
		id, voter, created, tokens, reason)
}

// Rows are the ballots that come after one, all for nil.
func (r smallProposal) rows(compare func(a, b cast) int, after *cast) (rows []json.RawMessage) {
	for _, b := range slices.SortedFunc(slices.Values(r.ballots), compare) {
		if after == nil || compare(*after, b) < 0 {
			rows = append(rows, (&walks{}).ballotRow(r.poll, b))
		}
	}
	return rows
}

func TestCursorsStayRightWhileBallotsArrive(t *testing.T) {
	t.Parallel()
	i := startShared(t)
	r := newSmallProposal()
	i.ImportLines(goodSpace)
	i.ImportLines(goodProposal)
	var lines []string
	began := time.Unix(1700000000, 0).UTC()
	moment := func(n int) *time.Time {
		if n%10 == 0 {
			return nil
		}
		return new(began.Add(time.Duration(n/3) * time.Hour))
	}
	for n := range 60 { // several voters share every power and every time
		lines = append(lines, r.addBallot(fmt.Sprint("first-", n), fmt.Sprintf("0x%02d", n), moment(n*37%60), int64(1+n*17%60/4)))
	}
	i.ImportLines(lines...)
	i.AwaitPublished()

	orders := map[string]func(a, b cast) int{"power": byPower, "time": byTime}
	path := "/v2/proposals/" + r.key() + "/votes?order="
	cursors, last := map[string]string{}, map[string]cast{}
	for order, compare := range orders {
		want := r.rows(compare, nil)
		for read := 0; read < 28; read += 7 {
			p := env.Must(i.Page(path+order, 7, cursors[order]))(t)
			if diff := cmp.Diff(env.Plain(want[read:read+7]), env.Plain(p.Rows)); diff != "" {
				t.Fatalf("%s, rows from %d (-want +got):\n%s", order, read, diff)
			}
			cursors[order] = p.Next
		}
		last[order] = slices.SortedFunc(slices.Values(r.ballots), compare)[27]
	}

	var more []string
	for n := range 40 { // before, after and at the position of the walks
		more = append(more, r.addBallot(fmt.Sprint("second-", n), fmt.Sprintf("0x%02da", n*3%70), moment(n*2), int64(n/2)))
	}
	for n := range 10 { // and recasts, which may move a voter to the other side
		more = append(more, r.addBallot(fmt.Sprint("recast-", n), fmt.Sprintf("0x%02d", n*6), new(began.Add(1000*time.Hour)), int64(3*n)))
	}
	i.ImportLines(more...)
	i.AwaitPublished()

	for order, compare := range orders {
		position := last[order]
		var got []json.RawMessage
		for cursor := cursors[order]; cursor != ""; {
			p := env.Must(i.Page(path+order, 7, cursor))(t)
			got, cursor = append(got, p.Rows...), p.Next
		}
		env.WantSame(t, fmt.Sprintf("%s, after the 28th row", order), env.Plain(r.rows(compare, &position)), env.Plain(got))
		env.Until(t, func() error { return i.CheckList(path+order, 7, r.rows(compare, nil)) })
	}
}

// The sorted copies that pages come from are replaced between two pages.
func TestLongLargeProposalIsWalkedWhileBallotsArrive(t *testing.T) {
	env.RequireEngine(t)
	data := filepath.Join(t.TempDir(), "data")
	if out, status := env.Run(t, nil, "generate", "--now", "2026-06-01T00:00:00Z", "--daos", "3", "--proposals", "12",
		"--ballots", "34000", "--largest", "26000", data); status != 0 {
		t.Fatalf("generate: status %d: %s", status, out)
	}
	l := &large{Pnyx: startShared(t)}
	l.Import(data)
	l.AwaitPublished()
	l.key = l.LargestProposals(1)[0]
	l.path = "/v2/proposals/" + l.key + "/votes?order="
	l.copied()
	at := map[string]string{"power": "power DESC", "time": "voted_at IS NULL, voted_at DESC"}
	first := l.truth(at["power"])

	walks := map[string]*walkUnderWay{"power": {}, "time": {}}
	for step, pages := range []int{8, 20, 1000} {
		for order, walk := range walks {
			walk.goOn(t, l.Pnyx, l.path+order, pages)
		}
		if step < 2 {
			l.arrive(t, step)
		}
	}
	for order, walk := range walks {
		walk.check(t, order, first)
	}
	l.copied()
	for order, by := range at {
		want := l.truth(by)
		env.Until(t, func() error {
			rows, err := l.Walk(l.path+order, 500)
			if err != nil {
				return err
			}
			if diff := cmp.Diff(want, brief(t, rows)); diff != "" {
				return fmt.Errorf("by %s (-want +got):\n%s", order, diff)
			}
			return nil
		})
	}
}

// large is a service with one large proposal.
type large struct {
	*env.Pnyx
	key, path string
}

// copied waits for a sorted copy with all ballots that count.
func (l *large) copied() {
	l.TB.Helper()
	env.Until(l.TB, func() error {
		want := l.Column("SELECT toString(votes) FROM proposal_states FINAL WHERE proposal_key = ?", l.key)
		got := l.Column(`SELECT toString(count()) FROM sorted_ballots WHERE generation =
			(SELECT max(generation) FROM sorted_copies WHERE kind = 'ballots' AND subject = ?)`, l.key)
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("ballots in the copy (-want +got):\n%s", diff)
		}
		return nil
	})
}

// truth reads the ballots that count from the warehouse.
func (l *large) truth(order string) (ballots []string) {
	l.TB.Helper()
	return l.Column(fmt.Sprintf(`SELECT concat(vote_id, ',', toString(power)) FROM latest_ballots
		WHERE proposal_ref IN (SELECT proposal_ref FROM proposal_states FINAL WHERE proposal_key = '%s')
		ORDER BY %s, voter DESC`, l.key, order))
}

// arrive imports ballots at many positions, one of them first, and waits until they are counted.
func (l *large) arrive(t *testing.T, batch int) {
	t.Helper()
	const arrivals = 200
	column := func(of string) string {
		return l.Column("SELECT "+of+" FROM proposal_states FINAL WHERE proposal_key = ?", l.key)[0]
	}
	proposal, space, votes := column("external_id"), column("source_id"), column("toString(votes)")
	choice := l.Column(`SELECT any(raw_choice) FROM latest_ballots
		WHERE proposal_ref IN (SELECT proposal_ref FROM proposal_states WHERE proposal_key = ?)`, l.key)[0]
	chance := rand.New(rand.NewPCG(uint64(batch), 6))
	top := fmt.Sprintf("0xarrival-%d-0", batch)
	var lines []string
	for n := range arrivals {
		power, created := chance.ExpFloat64()*100, 1_780_000_000-chance.IntN(40_000_000)
		if n == 0 {
			power, created = 1e15+float64(batch), 1_790_000_000+batch
		}
		lines = append(lines, fmt.Sprintf(`{"id":"arrival-%d-%d","proposal":{"id":%q},"space":{"id":%q},"voter":"0xarrival-%d-%d","created":%d,"choice":%s,"vp":%f}`,
			batch, n, proposal, space, batch, n, created, choice, power))
	}
	l.ImportLines(lines...)
	imported := time.Now()
	for _, order := range []string{"power", "time"} {
		env.Until(t, func() error {
			var rows []ballotRow
			_, err := l.Read(l.path+order+"&limit=3", &rows)
			if err == nil && rows[0].VoterIdentity != top {
				err = fmt.Errorf("the first by %s is %s, want %s", order, rows[0].VoterIdentity, top)
			}
			return err
		})
		t.Logf("the new first ballot by %s was seen %s after the import", order, time.Since(imported).Round(time.Millisecond))
	}
	env.Until(t, func() error {
		var summary struct{ Held struct{ Votes string } }
		_, err := l.Read("/v2/proposals/"+l.key+"/votes/summary", &summary)
		before, _ := strconv.Atoi(votes)
		if want := strconv.Itoa(before + arrivals); err == nil && summary.Held.Votes != want {
			err = fmt.Errorf("the summary counts %s ballots, want %s", summary.Held.Votes, want)
		}
		return err
	})
}

// walkUnderWay is a walk that pauses between pages.
type walkUnderWay struct {
	rows   []json.RawMessage
	cursor string
	ended  bool
}

// goOn reads the next pages.
func (w *walkUnderWay) goOn(t *testing.T, i *env.Pnyx, path string, pages int) {
	t.Helper()
	for range pages {
		if w.ended {
			return
		}
		p := env.Must(i.Page(path, 500, w.cursor))(t)
		w.rows = append(w.rows, p.Rows...)
		w.cursor, w.ended = p.Next, p.Next == ""
	}
}

// Check checks that the walk has every ballot of its start exactly once, none twice, in order.
func (w *walkUnderWay) check(t *testing.T, order string, first []string) {
	t.Helper()
	seen := map[string]int{}
	var last ballotRow
	for n, row := range w.rows {
		var b ballotRow
		env.Decode(t, row, &b)
		seen[b.VoteID+","+b.VotingPower]++
		if n > 0 && !b.follows(last, order) {
			t.Errorf("by %s, row %d: %s comes after\n%s", order, n, row, w.rows[n-1])
		}
		last = b
	}
	for _, ballot := range first {
		env.Want(t, 1, seen[ballot], order, "times that it shows ballot", ballot)
	}
	t.Logf("by %s: %d ballots existed at the start, %d more arrived during the walk", order, len(first), len(seen)-len(first))
	if len(seen) != len(w.rows) {
		t.Errorf("by %s: got %d rows, want one for each of %d ballots", order, len(w.rows), len(seen))
	}
}

// follows reports whether a row may come after another.
func (r ballotRow) follows(before ballotRow, order string) bool {
	asCast := func(r ballotRow) cast {
		c := cast{voter: r.VoterIdentity, power: powerOf(exact(r.VotingPower))}
		if r.VotedAt != nil {
			at, err := time.Parse(env.TimeLayout, *r.VotedAt)
			if err != nil {
				panic(err)
			}
			c.at = &at
		}
		return c
	}
	if order == "time" {
		return byTime(asCast(before), asCast(r)) < 0
	}
	return byPower(asCast(before), asCast(r)) < 0
}

// brief formats ballots like truth.
func brief(t *testing.T, rows []json.RawMessage) (ballots []string) {
	t.Helper()
	for _, row := range rows {
		var b ballotRow
		env.Decode(t, row, &b)
		ballots = append(ballots, b.VoteID+","+b.VotingPower)
	}
	return ballots
}
