package fill

import (
	"cmp"
	"context"
	"time"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse/pages"
)

// publicationPause is between two checks whether the publication that writes the list has ended.
const publicationPause = 20 * time.Millisecond

func (p *page) proposals(ctx context.Context, q query.Proposals) (any, error) {
	return p.fromList(ctx, q.Scope(), func() (any, error) {
		rows, err := pages.ListProposals(ctx, p.Warehouse, q)
		return proposalRows(rows, q.Order), err
	})
}

// fromList builds a page of the list as one publication left it: again, when rows are written meanwhile.
func (p *page) fromList(ctx context.Context, scope query.Scope, read func() (any, error)) (any, error) {
	for ctx.Err() == nil {
		written, err := p.revision(ctx, cache.ProposalRows())
		if err != nil {
			return nil, err
		}
		whole, err := p.revision(ctx, query.Scope{Kind: query.KindProposals})
		if err != nil || whole == 0 {
			return nil, cmp.Or(err, errAbsent) // nothing is published
		}
		if written > whole {
			backoff.Wait(ctx, publicationPause)
			continue
		}
		// A DAO that does not exist has no version, and no rows.
		if p.head.Revision, err = p.revision(ctx, scope); err != nil {
			return nil, err
		}
		p.head.Revision = cmp.Or(p.head.Revision, whole)
		payload, err := read()
		if err != nil {
			return nil, err
		}
		if again, err := p.revision(ctx, cache.ProposalRows()); err != nil || again != written {
			continue
		}
		p.head.DataAsOf = governance.TimestampOfRevision(p.head.Revision)
		return payload, nil
	}
	return nil, ctx.Err()
}

func (p *page) revision(ctx context.Context, scope query.Scope) (uint64, error) {
	version, there, err := p.version(ctx, scope)
	if !there {
		return 0, err
	}
	return version.Revision, nil
}

func proposalRows(proposals []pages.ListedProposal, order query.ProposalOrder) []cache.ProposalRow {
	rows := make([]cache.ProposalRow, len(proposals))
	for i, p := range proposals {
		rows[i] = cache.ProposalRow{
			Item: governance.ProposalListItem{
				ProposalKey: p.Key, Identity: p.Identity, Title: governance.OptionalText(p.Title), SourceURL: governance.OptionalText(p.SourceURL),
				LifecycleStatus: p.Lifecycle, Outcome: p.Outcome, StartAt: p.StartAt, EndAt: p.EndAt, CreatedAt: p.CreatedAt,
				ProposerID: governance.OptionalText(p.ProposerID), CoverageStatus: p.Coverage, Flagged: p.Flagged,
			},
			Position: p.PositionIn(order),
		}
	}
	return rows
}
