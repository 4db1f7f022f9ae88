package fill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse/pages"
)

// voterTTL is how long the pages of a voter are fresh. A publication changes too many
// voters to keep a version of each.
const voterTTL = 5 * time.Second

// voters builds a page of a DAO's ranking.
func (p *page) voters(ctx context.Context, q query.Voters) (cache.View, error) {
	var rows []governance.DAOVoter
	there, err := p.fromSortedCopy(ctx, q.Scope(), func(generation uint64) (err error) {
		rows, err = pages.ListVoters(ctx, p.Warehouse, q, generation)
		return err
	})
	if err != nil || !there {
		return p.absent(), err
	}
	if err := p.setVoteCoverage(ctx, q.DAOID); err != nil {
		return cache.View{}, err
	}
	err = nameRows(ctx, p, rows, func(v *governance.DAOVoter) []shown { return []shown{{v.VoterIdentity, &v.VoterName}} })
	if err != nil {
		return cache.View{}, err
	}
	return cache.NewView(p.head, rows)
}

// setVoteCoverage states in the head how many of the ballots of a DAO are held, or with "" of
// all of them.
func (p *page) setVoteCoverage(ctx context.Context, daoID string) error {
	var status governance.DataStatus
	view, err := p.Store.View(ctx, cache.DataStatusKey(daoID))
	if err == nil {
		err = view.Decode(&status)
	}
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return fmt.Errorf("read the data status of %q: %w", daoID, err)
	}
	p.head.VoteCoverage = status.VoteCoverageStatus
	return nil
}

// setPublishedHead completes the head of a page that has no version, and is fresh for a time
// and until something is published after that.
func (p *page) setPublishedHead(ctx context.Context, ttl time.Duration) error {
	published, err := p.Store.PublicationState(ctx)
	if err != nil {
		return err
	}
	p.head.Revision = published.Revision
	until := governance.TimestampOf(time.Now().Add(ttl))
	p.head.FreshUntil = &until
	return nil
}

func (p *page) profile(ctx context.Context, q query.Profile) (cache.View, error) {
	if err := p.setPublishedHead(ctx, voterTTL); err != nil {
		return cache.View{}, err
	}
	profile, err := pages.VoterProfile(ctx, p.Warehouse, string(q.Voter))
	if err != nil {
		return cache.View{}, err
	}
	if profile.DAOs == nil {
		return p.absent(), nil
	}
	if err := p.setVoteCoverage(ctx, ""); err != nil {
		return cache.View{}, err
	}
	if err := p.setNames(ctx, []shown{{profile.VoterIdentity, &profile.VoterName}}); err != nil {
		return cache.View{}, err
	}
	return cache.NewView(p.head, profile)
}

func (p *page) voterVotes(ctx context.Context, q query.VoterVotes) (cache.View, error) {
	if err := p.setPublishedHead(ctx, voterTTL); err != nil {
		return cache.View{}, err
	}
	rows, err := pages.ListVoterVotes(ctx, p.Warehouse, q)
	if err != nil {
		return cache.View{}, err
	}
	if len(rows) == 0 {
		// Either the query selects none of the voter's votes, or there is no such voter.
		profile, err := pages.VoterProfile(ctx, p.Warehouse, string(q.Voter))
		if err != nil || profile.DAOs == nil {
			return p.absent(), err
		}
	}
	if err := p.setVoteCoverage(ctx, q.DAOID); err != nil {
		return cache.View{}, err
	}
	votes := make([]governance.VoterVote, len(rows))
	for i, row := range rows {
		votes[i] = row.VoterVote
		votes[i].Choice.Label, votes[i].Invalid = describeBallot(row.RawChoice, choicesOf(row.Choices, row.Bounds))
		if votes[i].Invalid {
			votes[i].ChoiceKey = nil
		}
	}
	return cache.NewView(p.head, votes)
}
