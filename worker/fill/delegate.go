package fill

import (
	"context"
	"errors"

	"pnyx/cache"
	"pnyx/governance/query"
	"pnyx/warehouse"
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
	rows, err := warehouse.ListDelegates(ctx, p.Warehouse, q)
	if err != nil {
		return cache.View{}, err
	}
	return cache.NewView(p.head, rows)
}

func (p *page) voterDelegations(ctx context.Context, q query.VoterDelegations) (cache.View, error) {
	if err := p.setPublishedHead(ctx, voterTTL); err != nil {
		return cache.View{}, err
	}
	rows, err := warehouse.ListVoterDelegations(ctx, p.Warehouse, q)
	if err != nil {
		return cache.View{}, err
	}
	return p.ofVoter(ctx, q.Voter, rows, len(rows))
}

func (p *page) openVotes(ctx context.Context, q query.OpenVotes) (cache.View, error) {
	if err := p.setPublishedHead(ctx, voterTTL); err != nil {
		return cache.View{}, err
	}
	rows, err := warehouse.ListOpenVotes(ctx, p.Warehouse, q)
	if err != nil {
		return cache.View{}, err
	}
	return p.ofVoter(ctx, q.Voter, rows, len(rows))
}

// ofVoter returns the view of a page of a voter. Without rows, either the query selects none, or there
// is no such voter: nobody who has voted, delegates or is delegated to.
func (p *page) ofVoter(ctx context.Context, voter query.Voter, rows any, count int) (cache.View, error) {
	if count > 0 {
		return cache.NewView(p.head, rows)
	}
	profile, err := p.Warehouse.VoterProfile(ctx, string(voter))
	if err != nil {
		return cache.View{}, err
	}
	if profile.DAOs == nil {
		every := query.VoterDelegations{Voter: voter}
		every.Limit = 1
		if found, err := warehouse.ListVoterDelegations(ctx, p.Warehouse, every); err != nil || len(found) == 0 {
			return p.absent(), err
		}
	}
	return cache.NewView(p.head, rows)
}
