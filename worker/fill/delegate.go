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
func (p *page) delegates(ctx context.Context, q query.Delegates) (cache.View, error) {
	if err := p.setPublishedHead(ctx, voterTTL); err != nil {
		return cache.View{}, err
	}
	if _, err := p.Store.View(ctx, cache.DAODetailKey(q.DAOID)); errors.Is(err, cache.ErrMiss) {
		return p.absent(), nil
	} else if err != nil {
		return cache.View{}, err
	}
	rows, err := pages.ListDelegates(ctx, p.Warehouse, q)
	if err != nil {
		return cache.View{}, err
	}
	err = nameRows(ctx, p, rows, func(d *governance.Delegate) []shown { return []shown{{d.VoterIdentity, &d.VoterName}} })
	if err != nil {
		return cache.View{}, err
	}
	return cache.NewView(p.head, rows)
}

func (p *page) voterDelegations(ctx context.Context, q query.VoterDelegations) (cache.View, error) {
	return ofVoter(ctx, p, q, q.Voter, func(ctx context.Context, w *warehouse.Warehouse, q query.VoterDelegations) ([]governance.VoterDelegation, error) {
		rows, err := pages.ListVoterDelegations(ctx, w, q)
		if err != nil {
			return nil, err
		}
		return rows, nameRows(ctx, p, rows, func(d *governance.VoterDelegation) []shown {
			return []shown{{d.Delegator, &d.DelegatorName}, {d.Delegate, &d.DelegateName}}
		})
	})
}

func (p *page) openVotes(ctx context.Context, q query.OpenVotes) (cache.View, error) {
	return ofVoter(ctx, p, q, q.Voter, pages.ListOpenVotes)
}

// ofVoter builds a page of what a query selects of a voter. Without rows, either it selects none, or
// there is no such voter.
func ofVoter[Query, Row any](
	ctx context.Context, p *page, q Query, voter query.Voter, list func(context.Context, *warehouse.Warehouse, Query) ([]Row, error),
) (cache.View, error) {
	if err := p.setPublishedHead(ctx, voterTTL); err != nil {
		return cache.View{}, err
	}
	rows, err := list(ctx, p.Warehouse, q)
	if err != nil {
		return cache.View{}, err
	}
	if len(rows) > 0 {
		return cache.NewView(p.head, rows)
	}
	profile, err := pages.VoterProfile(ctx, p.Warehouse, string(voter))
	if err != nil {
		return cache.View{}, err
	}
	if profile.DAOs == nil {
		return p.absent(), nil
	}
	return cache.NewView(p.head, rows)
}
