package publish

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

// A publication returns before the first pages are written; these follow concurrently.
func TestFirstPagesFollowPublication(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	e.append([]record.Record{&record.Ballot{
		Proposal: e.proposals[0], Voter: "0xa", VoteID: "v", Power: decimal.NewFromInt(3),
		Choices: []string{"2"}, ChoiceKey: "2", RawChoice: "2",
	}})
	e.step()
	key := governance.Identity{DAOID: "space-0", Provider: governance.Snapshot, ExternalID: e.proposals[0].ExternalID}.ProposalKey()
	page := func(order query.BallotOrder) (ballots []governance.Ballot, err error) {
		q := query.Ballots{Proposal: key, Order: order}
		q.Limit = query.ShortPage
		view, _, err := e.publisher.Store.Page(t.Context(), cache.NewPageRequest(q))
		if err == nil {
			err = view.Decode(&ballots)
		}
		return ballots, err
	}
	if got, err := page(query.BallotsByPower); err == nil {
		t.Fatalf("got %v after the publication, want no page yet", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { e.publisher.MaintainFirstPages(ctx) })
	defer running.Wait()
	defer stop()
	for _, order := range []query.BallotOrder{query.BallotsByPower, query.BallotsByTime} {
		env.Until(t, func() error {
			ballots, err := page(order)
			if err == nil && (len(ballots) != 1 || ballots[0].Choice.Label != "B") {
				err = fmt.Errorf("%s: got %+v, want the ballot for B", order, ballots)
			}
			return err
		})
	}
}

func TestPendingPagesAreThoseOfTheLatestPublication(t *testing.T) {
	t.Parallel()
	pending := newPendingPages()
	for _, pages := range []firstPages{
		{ref: record.RefHash{1}, revision: 1}, {ref: record.RefHash{2}, revision: 2}, {ref: record.RefHash{1}, revision: 3},
	} {
		pending.add(pages)
	}
	for _, want := range []firstPages{{ref: record.RefHash{2}, revision: 2}, {ref: record.RefHash{1}, revision: 3}} {
		if got, ok := pending.next(); !ok || got.ref != want.ref || got.revision != want.revision {
			t.Errorf("got proposal %v of revision %d, %v, want proposal %v of revision %d",
				got.ref[0], got.revision, ok, want.ref[0], want.revision)
		}
	}
	if got, ok := pending.next(); ok {
		t.Errorf("got proposal %v, want no more", got.ref[0])
	}
}
