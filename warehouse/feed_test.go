package warehouse_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/record"
)

// The engine cuts zeros off the end where it makes a text of a reference.
func TestRecordedTypesOfAReferenceThatEndsInZero(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := ""
	for n := 0; id == ""; n++ {
		if hash := ref(fmt.Sprint(n)).Hash(); hash[len(hash)-1] == 0 {
			id = fmt.Sprint(n)
		}
	}
	about := ref(id)
	appendAll(t, w, &record.Event{ID: "e", Type: "voting_ended", DAOID: "dao", ItemType: "proposal", Proposal: &about, Confidence: "exact"})
	types := env.Must(feed.NewFeed(w).RecordedTypes(t.Context(), []record.RefHash{about.Hash()}))(t)
	env.Want(t, 1, len(types), types, "the recorded type")
}

// A vote is part of the usual turnout of the ten after it while it is complete and was not
// canceled: these are to be derived again when they have another one, and only then.
func TestLaterVotesAreThoseWithAnotherUsualTurnout(t *testing.T) {
	t.Parallel()
	laterVotesHaveAnotherTurnout(t, open(t))
}

func laterVotesHaveAnotherTurnout(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	var states []counts.ProposalState
	for n := range 14 {
		states = append(states, counts.ProposalState{
			Ref: ref(fmt.Sprint(n)).Hash(), Votes: uint64(30 + n), Power: decimal.Zero, Revision: 1, SourceID: "dao.eth",
			Identity:  governance.Identity{DAOID: "dao", Provider: governance.Snapshot, ExternalID: fmt.Sprint(n)},
			Lifecycle: governance.Closed, Coverage: governance.Complete, VoteReady: true, Settled: true, TotalVotes: new(uint64(30 + n)),
			EndAt: new(governance.Timestamp(1_000 * (n + 1))),
		})
	}
	revision := uint64(1)
	// include states what the feed includes: these states.
	include := func(states []counts.ProposalState) {
		t.Helper()
		writeStates(t, w, states...)
		var refs []record.RefHash
		for _, state := range states {
			refs = append(refs, state.Ref)
		}
		turnouts, _, err := feed.NewFeed(w).Turnouts(t.Context(), refs)
		env.MustDo(t, err)
		var progress []feed.FeedProgress
		for _, state := range states {
			progress = append(progress, feed.FeedProgress{
				Item: state.Ref, DAOID: state.Identity.DAOID, Revision: state.Revision, Context: turnouts[state.Ref].Context,
			})
		}
		env.MustDo(t, feed.NewFeed(w).WriteProgress(t.Context(), 1, progress))
	}
	ten := []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	for name, test := range map[string]struct {
		change func(*counts.ProposalState)
		want   []int
	}{
		"nothing of it":       {func(s *counts.ProposalState) { s.QualityFlags = []string{"flag"} }, nil},
		"ballots":             {func(s *counts.ProposalState) { s.TotalVotes = new(*s.TotalVotes + 1) }, ten},
		"ballots are missing": {func(s *counts.ProposalState) { s.Settled = false }, ten},
		"it is canceled":      {func(s *counts.ProposalState) { s.Outcome = governance.Canceled }, ten},
		"it has no number":    {func(s *counts.ProposalState) { s.TotalVotes = nil }, ten},
		"it is active again":  {func(s *counts.ProposalState) { s.Lifecycle = governance.Active }, ten},
		"it is withdrawn":     {func(s *counts.ProposalState) { s.Identity.DAOID, s.WithdrawnFrom = "", "dao" }, ten},
		"it ended later":      {func(s *counts.ProposalState) { s.EndAt = new(governance.Timestamp(20_000)) }, ten},
		"it ended earlier":    {func(s *counts.ProposalState) { s.EndAt = new(governance.Timestamp(500)) }, []int{0, 11}},
		"of another source":   {func(s *counts.ProposalState) { s.SourceID = "other.eth" }, ten},
		"of another DAO":      {func(s *counts.ProposalState) { s.Identity.DAOID = "other" }, ten},
	} {
		t.Run(name, func(t *testing.T) {
			revision += 2
			for i := range states {
				states[i].Revision = revision
			}
			include(states)
			changed := states[1]
			changed.Revision++
			test.change(&changed)
			writeStates(t, w, changed)
			_, later, err := feed.NewFeed(w).Turnouts(t.Context(), []record.RefHash{changed.Ref})
			env.MustDo(t, err)
			for n := range states {
				found := slices.ContainsFunc(later, func(p feed.ProposalSize) bool { return p.Ref == states[n].Ref })
				env.Want(t, slices.Contains(test.want, n), found, "vote", n)
			}
		})
	}
}

// A row is told of when it is written, if it was due by then, or when it becomes due, if it is still
// there: a list that nothing is added to does not change.
func TestOnlyRowsThatAppearBecomeVisible(t *testing.T) {
	t.Parallel()
	rowsThatAppearBecomeVisible(t, open(t))
}

func rowsThatAppearBecomeVisible(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	signal := func(daoID string, at governance.Timestamp) feed.FeedSignal {
		item := ref(daoID).Hash()
		return feed.FeedSignal{Item: item, SignalRow: governance.SignalRow{
			Signal: governance.Signal{SignalID: daoID, DAOID: daoID, Evidence: []byte("{}")}, DetectedAt: at,
		}}
	}
	event := func(daoID string, at governance.Timestamp) feed.FeedEvent {
		item := ref(daoID).Hash()
		return feed.FeedEvent{Item: item, EventRow: governance.EventRow{
			Event: governance.Event{EventID: daoID, DAOID: daoID, EventTimeMs: at}, DiscoveredAt: at,
		}}
	}
	write := func(revision uint64, daoID string, at ...governance.Timestamp) {
		t.Helper()
		items := []feed.FeedItem{ref(daoID).Hash()}
		events := env.Must(feed.NewFeed(w).StoredEvents(t.Context(), items))(t)
		signals := env.Must(feed.NewFeed(w).StoredSignals(t.Context(), items))(t)
		var newEvents []feed.FeedEvent
		var newSignals []feed.FeedSignal
		for _, at := range at {
			newEvents, newSignals = append(newEvents, event(daoID, at)), append(newSignals, signal(daoID, at))
		}
		env.Must(feed.NewFeed(w).ReplaceEvents(t.Context(), revision, events, newEvents))(t)
		env.Must(feed.NewFeed(w).ReplaceSignals(t.Context(), revision, signals, newSignals))(t)
	}
	write(1_000_000, "to-come", 5_000)
	write(1_000_000, "later", 20_000)
	write(6_000_000, "past", 5_000)
	write(1_000_000, "removed", 5_000)
	write(1_500_000, "removed")
	write(1_000_000, "postponed", 5_000)
	write(1_500_000, "postponed", 30_000)
	write(1_000_000, "brought-forward", 30_000)
	write(1_500_000, "brought-forward", 5_000)
	visible := env.Must(feed.NewFeed(w).BecameVisible(t.Context(), 2_000, 10_000))(t)
	for _, daoID := range []string{"to-come", "later", "past", "removed", "postponed", "brought-forward"} {
		want := daoID == "to-come" || daoID == "brought-forward"
		if got := visible[daoID]; len(got.EventIDs) > 0 != want || len(got.SignalIDs) > 0 != want {
			t.Errorf("%s: got %+v, want %t", daoID, got, want)
		}
	}
}

// A recorded event keeps its id when its DAO is corrected: readers of both DAOs are told.
func TestRowThatMovesToAnotherDAODiffersInBoth(t *testing.T) {
	t.Parallel()
	w := open(t)
	items := []feed.FeedItem{ref("recorded").Hash()}
	for revision, test := range []struct {
		dao  string
		want []string
	}{{"before", []string{"before"}}, {"after", []string{"after", "before"}}, {"after", nil}} {
		event := feed.FeedEvent{Item: items[0]}
		event.EventID, event.DAOID, event.EventTimeMs, event.DiscoveredAt = "e", test.dao, 5, 5
		signal := feed.FeedSignal{Item: items[0]}
		signal.SignalID, signal.DAOID, signal.DetectedAt, signal.Evidence = "s", test.dao, 5, []byte("{}")
		events := env.Must(feed.NewFeed(w).StoredEvents(t.Context(), items))(t)
		signals := env.Must(feed.NewFeed(w).StoredSignals(t.Context(), items))(t)
		differ := env.Must(feed.NewFeed(w).ReplaceEvents(t.Context(), uint64(2+revision), events, []feed.FeedEvent{event}))(t)
		env.WantSame(t, "DAOs of events", test.want, slices.Sorted(maps.Keys(differ)))
		differ = env.Must(feed.NewFeed(w).ReplaceSignals(t.Context(), uint64(2+revision), signals, []feed.FeedSignal{signal}))(t)
		env.WantSame(t, "DAOs of signals", test.want, slices.Sorted(maps.Keys(differ)))
	}
}

// Deadlines to come are listed first, the nearest before the others, then past ones, the latest first,
// then signals without one, page by page as of one time.
func TestSignalsByDeadlineBeginWithThoseToCome(t *testing.T) {
	t.Parallel()
	w := open(t)
	const asOf = governance.Timestamp(1_000_000)
	deadlines := map[string]governance.Timestamp{"next": asOf + 1, "soon": asOf + 2, "later": asOf + 1000, "now": asOf, "just": asOf - 1, "long": 5, "none": 0, "none2": 0}
	var rows []feed.FeedSignal
	for id, at := range deadlines {
		row := feed.FeedSignal{Item: ref(id).Hash(), Surfaces: []string{"agent"}}
		row.SignalID, row.DAOID, row.DetectedAt, row.Evidence = id, "dao", 10, []byte("{}")
		if at != 0 {
			row.DeadlineAtMs = new(at)
		}
		rows = append(rows, row)
	}
	env.Must(feed.NewFeed(w).ReplaceSignals(t.Context(), 1, nil, rows))(t)
	q := query.Signals{From: new(governance.Timestamp(0)), To: new(governance.Timestamp(100)), Surface: governance.AgentSurface, Order: query.SignalsByDeadline}
	q.Limit = 3
	// The other orders are by equal priorities and times, and then by id.
	byID := []string{"soon", "now", "none2", "none", "next", "long", "later", "just"}
	for order, want := range map[query.SignalOrder][]string{
		query.SignalsByDeadline: {"next", "soon", "later", "now", "just", "long", "none", "none2"},
		query.SignalsByPriority: byID, query.SignalsByDetection: byID,
	} {
		t.Run(string(order), func(t *testing.T) {
			t.Parallel()
			q, got := q, []string(nil)
			q.Order = order
			for _, row := range walk(t, q.Limit, func(after *governance.SignalRow) ([]governance.SignalRow, error) {
				if after != nil {
					q.After = new(q.PositionOf(*after))
				}
				return feed.ListSignals(t.Context(), w, q, asOf, asOf)
			}) {
				got = append(got, row.SignalID)
			}
			env.WantSame(t, "answer", want, got)
		})
	}
}
