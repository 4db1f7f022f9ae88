package fill

import (
	"context"
	"errors"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/worker/backoff"
)

const (
	// listPause is how long a page waits, again and again, for a publication that is
	// writing the rows it is made from.
	listPause = 20 * time.Millisecond
	// leastContained is how many characters a text has, at least, that titles are
	// searched for: shorter ones are in too many to tell anything.
	leastContained = 3
)

// proposals makes a page of the list of proposals.
func (p pageMaker) proposals(ctx context.Context) (cache.View, error) {
	return p.ofList(ctx, func() (any, error) {
		rows, err := ListProposals(ctx, p.warehouse, p.request)
		return ProposalRows(rows, p.request.Order), err
	})
}

// candidates makes the answer to a request to resolve something.
func (p pageMaker) candidates(ctx context.Context) (cache.View, error) {
	return p.ofList(ctx, func() (any, error) {
		return p.resolve(ctx)
	})
}

// ofList makes a page from the rows of the list, as one publication left them. A
// page that one has come in between of is made again.
func (p pageMaker) ofList(ctx context.Context, read func() (any, error)) (cache.View, error) {
	for ctx.Err() == nil {
		written, err := p.listMark(ctx, cache.ProposalRows, "")
		if err != nil {
			return cache.View{}, err
		}
		whole, err := p.listMark(ctx, cache.ProposalPage, "")
		if err != nil {
			return cache.View{}, err
		}
		if whole == 0 {
			return p.absent(), nil // nothing is published
		}
		if written > whole {
			backoff.Wait(ctx, listPause)
			continue
		}
		// A DAO that nobody knows has no mark, and no rows.
		if p.head.Revision, err = p.listMark(ctx, cache.ProposalPage, p.request.Filter.DAOID); err != nil {
			return cache.View{}, err
		}
		if p.head.Revision == 0 {
			p.head.Revision = whole
		}
		payload, err := read()
		if err != nil {
			return cache.View{}, err
		}
		if again, err := p.listMark(ctx, cache.ProposalRows, ""); err != nil || again != written {
			continue
		}
		// Revisions are microseconds of the warehouse's clock.
		p.head.DataAsOf = governance.TimestampOf(time.UnixMicro(int64(p.head.Revision))) //nolint:gosec // it came from one
		return cache.NewView(p.head, payload)
	}
	return cache.View{}, ctx.Err()
}

// listMark returns the revision of a mark, zero where there is none.
func (p pageMaker) listMark(
	ctx context.Context, kind cache.PageKind, subject string,
) (uint64, error) {
	mark, err := p.store.Version(ctx, kind, subject)
	if errors.Is(err, cache.ErrMiss) {
		return 0, nil
	}
	return mark.Revision, err
}

// listProposals reads the rows of a page, and one more, which tells whether there
// is another page.
func ListProposals(
	ctx context.Context, from *warehouse.Warehouse, r cache.PageRequest,
) ([]warehouse.ListedProposal, error) {
	filter := warehouse.ProposalFilter{
		DAOID: r.Filter.DAOID, Provider: r.Filter.Provider, ProposerID: r.Filter.ProposerID,
		Lifecycles: r.Filter.Lifecycles, Outcomes: r.Filter.Outcomes,
		TimeField: r.Filter.TimeField, From: r.Filter.From, To: r.Filter.To,
	}
	var after *warehouse.ListPosition
	if r.After != nil {
		after = &warehouse.ListPosition{Band: r.After.Number, At: r.After.At, Key: governance.ProposalKey(r.After.Key)}
	}
	return from.ListProposals(ctx, filter, r.Order, after, r.Limit+1)
}

func ProposalRows(proposals []warehouse.ListedProposal, order string) []cache.ProposalRow {
	rows := make([]cache.ProposalRow, len(proposals))
	for i, p := range proposals {
		at := p.PositionIn(order)
		rows[i] = cache.ProposalRow{
			Item: governance.ProposalListItem{
				ProposalKey: p.Key, Identity: p.Identity, Title: governance.OptionalText(p.Title), SourceURL: governance.OptionalText(p.SourceURL),
				LifecycleStatus: p.Lifecycle, Outcome: p.Outcome, EndAt: p.EndAt, CoverageStatus: p.Coverage,
			},
			Position: cache.Position{Number: at.Band, At: at.At, Key: string(at.Key)},
		}
	}
	return rows
}
