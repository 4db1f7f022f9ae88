package fill

import (
	"context"
	"errors"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/pages"
)

// delegates builds a page of a DAO's delegates. It has no version: tokens state power in most blocks.
func (p *page) delegates(ctx context.Context, q query.Delegates) (any, error) {
	if err := p.setPublishedHead(ctx, voterTTL); err != nil {
		return nil, err
	}
	if _, err := p.Store.View(ctx, cache.DAODetailKey(q.DAOID)); errors.Is(err, cache.ErrMiss) {
		return nil, errAbsent
	} else if err != nil {
		return nil, err
	}
	rows, err := pages.ListDelegates(ctx, p.Warehouse, q)
	return nameRows(ctx, p, rows, err, func(d *governance.Delegate) []shown { return []shown{{d.VoterIdentity, &d.VoterName}} })
}

func (p *page) voterDelegations(ctx context.Context, q query.VoterDelegations) (any, error) {
	return ofVoter(ctx, p, q, q.Voter, func(ctx context.Context, w *warehouse.Warehouse, q query.VoterDelegations) ([]governance.VoterDelegation, error) {
		rows, err := pages.ListVoterDelegations(ctx, w, q)
		return nameRows(ctx, p, rows, err, func(d *governance.VoterDelegation) []shown {
			return []shown{{d.Delegator, &d.DelegatorName}, {d.Delegate, &d.DelegateName}}
		})
	})
}

func (p *page) openVotes(ctx context.Context, q query.OpenVotes) (any, error) {
	return ofVoter(ctx, p, q, q.Voter, pages.ListOpenVotes)
}
