package publish

import (
	"context"

	"golang.org/x/sync/errgroup"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/worker/fill"
)

// firstPageConcurrency is how many first pages are read at the same time: such a read
// waits more than it works.
const firstPageConcurrency = 4

// writeFirstPages writes the first pages of ballots of large proposals. They are read
// from the table itself, as the sorted copies are still pending.
func (p *proposalPublication) writeFirstPages(ctx context.Context, large []*evaluation) error {
	orders := []query.BallotOrder{query.BallotsByPower, query.BallotsByTime}
	pages := make([]cache.View, len(large)*len(orders))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(firstPageConcurrency)
	for i := range pages {
		group.Go(func() (err error) {
			pages[i], err = p.firstPage(groupCtx, large[i/len(orders)], orders[i%len(orders)])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, page := range pages {
		request := cache.NewPageRequest(firstBallots(large[i/len(orders)].key, orders[i%len(orders)]))
		if err := p.writer.SetPage(ctx, request, page); err != nil {
			return err
		}
	}
	return p.writer.Flush(ctx)
}

// firstPage reads the first page of a proposal's ballots in an order, and one row more,
// which shows that there is another page.
func (p *proposalPublication) firstPage(
	ctx context.Context, e *evaluation, order query.BallotOrder,
) (cache.View, error) {
	q := firstBallots(e.key, order)
	q.ReadAhead()
	rows, err := p.Warehouse.ListBallots(ctx, warehouse.BallotSource{Ref: e.proposal.Ref}, q)
	if err != nil {
		return cache.View{}, err
	}
	return cache.NewView(p.head(), fill.BallotRows(rows, fill.LabelsOf(e.result.choices)))
}

func firstBallots(key governance.ProposalKey, order query.BallotOrder) query.Ballots {
	q := query.Ballots{Proposal: key, Order: order}
	q.Limit = query.ShortPage
	return q
}
