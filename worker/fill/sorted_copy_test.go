package fill_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/worker/fill"
)

// walkedKey is the proposal whose ballots are walked through, and walkedRef its name upstream.
const walkedKey governance.ProposalKey = "p1_AAAAAAAAAAAAAAAAAAAAAA"

var walkedRef = record.ProposalRef{Provider: governance.Snapshot, ExternalID: "walked"}

// walkedBallots is no multiple of the sizes of pages: the last page is shorter.
const walkedBallots = 2050

type walked struct {
	*testing.T

	warehouse *warehouse.Warehouse
	store     *cache.Store
	filler    *fill.Filler
}

func newWalked(t *testing.T) *walked {
	t.Helper()
	env.SkipShort(t, "an engine")
	store := env.Store(t, env.EmbeddedRedis(t))
	w := &walked{T: t, warehouse: env.Warehouse(t), store: store}
	w.filler = fill.New(fill.Options{
		Warehouse: w.warehouse, Store: store, Timeout: time.Minute,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Metrics: prometheus.NewRegistry(),
	})
	writer := store.NewWriter(1)
	writer.SetPayload(t.Context(), cache.ProposalDetailKey(walkedKey), cache.View{}, governance.ProposalDetail{
		ProposalKey: walkedKey, Choices: []governance.Choice{{Key: "1", Label: "For"}, {Key: "2", Label: "Against"}},
		Identity: governance.Identity{Provider: walkedRef.Provider, ExternalID: walkedRef.ExternalID},
	})
	env.MustDo(t, writer.Flush(t.Context()))
	var cast []record.Record
	for i := range walkedBallots {
		cast = append(cast, w.ballot(i, int64(i/9)))
	}
	w.publish(1, cast...)
	return w
}

// ballot is one of many with equal power and equal times, and of some without a time.
func (w *walked) ballot(i int, power int64) *record.Ballot {
	choice := fmt.Sprint(1 + i%3)
	b := &record.Ballot{
		Proposal: walkedRef, VoteID: fmt.Sprintf("vote-%d-%d", i, power), Voter: fmt.Sprintf("0x%040x", (i*7919)%walkedBallots),
		Power: decimal.New(power, -2), Choices: []string{choice}, ChoiceKey: choice, RawChoice: choice,
	}
	if i%4 > 0 {
		at := governance.Timestamp(1_700_000_000_000 + int64(i/5)*1000)
		b.VotedAt = &at
	}
	return b
}

// publish writes ballots, and sorts all of them as a generation that is current from then on.
func (w *walked) publish(generation uint64, ballots ...record.Record) {
	w.Helper()
	run := records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
	_, err := records.Append(w.Context(), w.warehouse, run, ballots)
	sorted := pages.SortedCopy{Kind: pages.BallotCopy, Subject: string(walkedKey), Ref: walkedRef.Hash()}
	writer := w.store.NewWriter(generation)
	env.MustDo(w, errors.Join(err, pages.BuildSortedCopy(w.Context(), w.warehouse, sorted, generation)))
	writer.SetVersion(w.Context(), query.Ballots{Proposal: walkedKey}.Scope(), generation)
	env.MustDo(w, writer.Flush(w.Context()))
}

// walk reads all ballots by their cursors, as a caller does who is shown so many of each
// page, and returns them in the order in which they came, with the revision of each page.
// Between two pages it calls between with the number of pages that were read.
func (w *walked) walk(order query.BallotOrder, shown int, between func(read int)) (ballots []governance.Ballot, revisions []uint64) {
	w.Helper()
	q := query.Ballots{Proposal: walkedKey, Order: order}
	q.Limit = query.PageSize(shown)
	for {
		r := cache.NewPageRequest(q)
		w.filler.Fill(w.Context(), []cache.Fill{{Page: r, Deadline: governance.TimestampOf(time.Now().Add(time.Hour))}})
		v, version, err := w.store.Page(w.Context(), r)
		if err != nil || !v.IsFresh(version.Revision) {
			w.Fatalf("the page %s was not made: %v", r.Key(), err)
		}
		if want := governance.TimestampOfRevision(v.Revision); v.DataAsOf != want {
			w.Errorf("got a page of %v, want of when its copy was published, %v", v.DataAsOf, want)
		}
		var rows []governance.Ballot
		env.MustDo(w, v.Decode(&rows))
		ballots, revisions = append(ballots, rows[:min(shown, len(rows))]...), append(revisions, v.Revision)
		if len(rows) <= shown {
			return ballots, revisions
		}
		after := q.PositionOf(rows[shown-1])
		q.After = &after
		between(len(revisions))
	}
}

func (w *walked) counted(order query.BallotOrder) (voters []string) {
	w.Helper()
	q := query.Ballots{Proposal: walkedKey, Order: order}
	q.Limit = 2 * walkedBallots
	rows := env.Must(pages.ListBallots(w.Context(), w.warehouse, pages.BallotSource{Ref: walkedRef.Hash()}, q))(w)
	for _, row := range rows {
		voters = append(voters, row.VoterIdentity)
	}
	return voters
}

func votersOf(ballots []governance.Ballot) (voters []string) {
	for _, b := range ballots {
		voters = append(voters, b.VoterIdentity)
	}
	return voters
}

func TestPagesOfASortedCopyHaveEachBallotOnce(t *testing.T) {
	t.Parallel()
	w := newWalked(t)
	for _, order := range []query.BallotOrder{query.BallotsByPower, query.BallotsByTime} {
		for _, shown := range []int{query.ShortPage, 70, 300} {
			t.Run(fmt.Sprintf("%d by %s", shown, order), func(t *testing.T) {
				ballots, _ := w.walk(order, shown, func(int) {})
				env.WantSame(t, "the pages differ from the table", w.counted(order), votersOf(ballots))
			})
		}
	}
}

func TestPagesGoOnInACopyThatReplacesTheOneBefore(t *testing.T) {
	t.Parallel()
	w := newWalked(t)
	const shown, replaced = query.ShortPage, 5
	for generation, order := range []query.BallotOrder{query.BallotsByPower, query.BallotsByTime} {
		before := uint64(1 + generation)
		ballots, revisions := w.walk(order, shown, func(read int) {
			if read == replaced {
				w.publish(before+1, w.ballot(3, 5000), w.ballot(walkedBallots-3, 0))
			}
		})
		for i, revision := range revisions {
			if want := before + min(uint64(i/replaced), 1); revision != want {
				t.Errorf("by %s: page %d is of revision %d, want %d: got %v", order, i, revision, want, revisions)
			}
		}
		// From there on it is what the new copy has after that position.
		after := votersOf(ballots[replaced*shown:])
		counted := w.counted(order)
		if from := slices.Index(counted, after[0]); from < 0 || !slices.Equal(counted[from:], after) {
			t.Errorf("by %s: the pages after the replacement are not those of the copy", order)
		}
	}
}
