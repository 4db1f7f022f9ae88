package fill

import (
	"context"
	"errors"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/pages"
)

// voterTTL is how long pages of a voter are fresh. A publication changes too many voters for a version of each.
const voterTTL = 5 * time.Second

func (p *page) voters(ctx context.Context, q query.Voters) (any, error) {
	var rows []governance.DAOVoter
	err := p.fromSortedCopy(ctx, q.Scope(), func(generation uint64) (err error) {
		rows, err = pages.ListVoters(ctx, p.Warehouse, q, generation)
		return err
	})
	if err == nil {
		err = p.setVoteCoverage(ctx, q.DAOID)
	}
	return nameRows(ctx, p, rows, err, func(v *governance.DAOVoter) []shown { return []shown{{v.VoterIdentity, &v.VoterName}} })
}

// setVoteCoverage states in the head how many of the ballots of a DAO are held; of all with "".
func (p *page) setVoteCoverage(ctx context.Context, daoID string) error {
	status, err := readView[governance.DataStatus](ctx, p, cache.DataStatusKey(daoID))
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return err
	}
	p.head.VoteCoverage = status.VoteCoverageStatus
	return nil
}

// setPublishedHead completes the head of a page without a version, fresh for a time and until the next publication.
func (p *page) setPublishedHead(ctx context.Context, ttl time.Duration) error {
	published, err := p.Store.PublicationState(ctx)
	if err != nil {
		return err
	}
	p.head.Revision = published.Revision
	p.head.FreshUntil = new(governance.TimestampOf(time.Now().Add(ttl)))
	return nil
}

func (p *page) profile(ctx context.Context, q query.Profile) (any, error) {
	if err := p.setPublishedHead(ctx, voterTTL); err != nil {
		return nil, err
	}
	profile, err := p.voterProfile(ctx, q.Voter)
	if err != nil {
		return nil, err
	}
	if err := p.setVoteCoverage(ctx, ""); err != nil {
		return nil, err
	}
	err = p.setNames(ctx, []shown{{profile.VoterIdentity, &profile.VoterName}})
	return profile, err
}

// voterProfile reads a profile. The error is errAbsent if there is no such voter.
func (p *page) voterProfile(ctx context.Context, voter query.Voter) (governance.VoterProfile, error) {
	profile, err := pages.VoterProfile(ctx, p.Warehouse, string(voter))
	if err == nil && profile.DAOs == nil {
		err = errAbsent
	}
	return profile, err
}

func (p *page) voterVotes(ctx context.Context, q query.VoterVotes) (any, error) {
	rows, err := ofVoter(ctx, p, q, q.Voter, pages.ListVoterVotes)
	if err != nil {
		return nil, err
	}
	if err := p.setVoteCoverage(ctx, q.DAOID); err != nil {
		return nil, err
	}
	votes := make([]governance.VoterVote, len(rows))
	for i, row := range rows {
		votes[i] = row.VoterVote
		votes[i].Choice.Label, votes[i].Invalid = describeBallot(row.RawChoice, choicesOf(row.Choices, row.Bounds))
		if votes[i].Invalid {
			votes[i].ChoiceKey = nil
		}
	}
	return votes, nil
}

// ofVoter reads what a query selects of a voter. Without rows, there may be no such voter.
func ofVoter[Query, Row any](
	ctx context.Context, p *page, q Query, voter query.Voter, list func(context.Context, *warehouse.Warehouse, Query) ([]Row, error),
) ([]Row, error) {
	if err := p.setPublishedHead(ctx, voterTTL); err != nil {
		return nil, err
	}
	rows, err := list(ctx, p.Warehouse, q)
	if err == nil && len(rows) == 0 {
		_, err = p.voterProfile(ctx, voter)
	}
	return rows, err
}
