package warehouse_test

import (
	"fmt"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// copied is how many ballots the copy has, and asked how many the page.
const copied, asked = 20_000, 10

// TestPageInMiddleOfSortedCopyReadsFewRows also where all ballots are equal but for the
// voter, in either order.
func TestPageInMiddleOfSortedCopyReadsFewRows(t *testing.T) {
	t.Parallel()
	const generation = 1
	w := open(t)
	votedAt := at("2026-01-01T00:00:00Z")
	records := make([]record.Record, copied)
	for i := range records {
		voter := voterNumber(i)
		records[i] = ballot("equal", voter, voter, "1", "1.5", votedAt)
	}
	appendAll(t, w, records...)
	order := warehouse.SortedCopy{Kind: warehouse.BallotCopy, Subject: "equal", Ref: ref("equal").Hash()}
	if err := w.BuildSortedCopy(t.Context(), order, generation); err != nil {
		t.Fatal(err)
	}

	var read uint64
	ctx := clickhouse.Context(t.Context(), clickhouse.WithProgress(func(p *clickhouse.Progress) { read += p.Rows }))
	place, middle := warehouse.BallotSource{Ref: order.Ref, Generation: generation}, voterNumber(copied/2)
	byPower, err := w.ListBallots(ctx, place, query.Ballots{Order: query.BallotsByPower, Paging: query.Paging[query.BallotPosition]{
		After: &query.BallotPosition{Power: "1.5", Voter: middle}, Limit: asked,
	}})
	checkMiddle(t, "power", byPower, err, read)
	read = 0
	byTime, err := w.ListBallots(ctx, place, query.Ballots{Order: query.BallotsByTime, Paging: query.Paging[query.BallotPosition]{
		After: &query.BallotPosition{At: votedAt, Voter: middle}, Limit: asked,
	}})
	checkMiddle(t, "time", byTime, err, read)
}

func voterNumber(i int) string { return fmt.Sprintf("0x%06d", i) }

// checkMiddle wants the voters before the one in the middle, without reading all.
func checkMiddle(t *testing.T, order string, page []warehouse.LatestBallot, err error, read uint64) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(page) != asked || page[0].VoterIdentity != voterNumber(copied/2-1) || page[asked-1].VoterIdentity != voterNumber(copied/2-asked) {
		t.Errorf("by %s: got %v", order, page)
	}
	if read == 0 || read > copied/4 {
		t.Errorf("by %s: read %d of %d rows for %d", order, read, copied, asked)
	}
}

func TestCopiesFollowAWithdrawnProposal(t *testing.T) {
	t.Parallel()
	w := open(t)
	large := func(id string, revision uint64) warehouse.ProposalState {
		return warehouse.ProposalState{
			Ref: ref(id).Hash(), Key: governance.ProposalKey(id), Votes: copied, Power: decimal.Zero, Revision: revision,
			Identity: governance.Identity{DAOID: "dao", Provider: governance.Snapshot, ExternalID: id},
		}
	}
	stale := func(states ...warehouse.ProposalState) (subjects []string) {
		t.Helper()
		if err := w.WriteProposalStates(t.Context(), states); err != nil {
			t.Fatal(err)
		}
		copies, err := w.StaleSortedCopies(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range copies {
			subjects = append(subjects, fmt.Sprintf("%s %s at %d", c.Kind, c.Subject, c.Revision))
			c.Generation = c.Revision
			if err := w.SwitchSortedCopy(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		return subjects
	}
	current := func() (subjects []string) {
		t.Helper()
		copies, err := w.CurrentSortedCopies(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range copies {
			subjects = append(subjects, c.Subject)
		}
		return subjects
	}
	gone := large("b", 3)
	gone.Identity.DAOID, gone.WithdrawnFrom = "", "dao"
	for _, c := range []struct {
		name           string
		states         []warehouse.ProposalState
		stale, current []string
	}{
		{"both published", []warehouse.ProposalState{large("a", 1), large("b", 2)}, []string{"ballots a at 1", "ballots b at 2", "voters dao at 2"}, []string{"a", "b", "dao"}},
		{"one withdrawn", []warehouse.ProposalState{gone}, []string{"voters dao at 3"}, []string{"a", "dao"}},
		{"nothing new", nil, nil, []string{"a", "dao"}},
		{"back again", []warehouse.ProposalState{large("b", 4)}, []string{"ballots b at 4", "voters dao at 4"}, []string{"a", "b", "dao"}},
	} {
		if diff := cmp.Diff(c.stale, stale(c.states...)); diff != "" {
			t.Errorf("%s: stale copies (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.current, current()); diff != "" {
			t.Errorf("%s: current copies (-want +got):\n%s", c.name, diff)
		}
	}
}
