package fill

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
)

// voterTTL is how long the pages of a voter are fresh. A publication changes too many
// voters to keep a version of each.
const voterTTL = 5 * time.Second

// voters builds a page of a DAO's ranking.
func (p *page) voters(ctx context.Context, q query.Voters) (cache.View, error) {
	var rows []warehouse.RankedVoter
	there, err := p.fromSortedCopy(ctx, q.Scope(), func(generation uint64) (err error) {
		rows, err = p.warehouse.ListVoters(ctx, q, generation)
		return err
	})
	if err != nil || !there {
		return p.absent(), err
	}
	page := make([]governance.DAOVoter, len(rows))
	for i, row := range rows {
		votes := governance.CountOf(row.Votes)
		page[i] = governance.DAOVoter{
			Rank: row.Rank, VoterIdentity: row.Voter, VoterAddress: voterAddress(row.Voter),
			TotalVotingPower: governance.DecimalOf(row.Power), VoteCount: votes, ProposalCount: votes,
		}
	}
	return cache.NewView(p.head, page)
}

// setVoterHead completes the head of a voter's pages.
func (p *page) setVoterHead(ctx context.Context) error {
	published, err := p.store.PublicationState(ctx)
	if err != nil {
		return err
	}
	p.head.Revision = published.Revision
	until := governance.TimestampOf(time.Now().Add(voterTTL))
	p.head.FreshUntil = &until
	return nil
}

// profile builds the profile of a voter.
func (p *page) profile(ctx context.Context, q query.Profile) (cache.View, error) {
	if err := p.setVoterHead(ctx); err != nil {
		return cache.View{}, err
	}
	daos, err := p.warehouse.VoterProfile(ctx, string(q.Voter))
	if err != nil {
		return cache.View{}, err
	}
	if len(daos) == 0 {
		return p.absent(), nil
	}
	return cache.NewView(p.head, profileOf(string(q.Voter), daos))
}

// profileOf sums up what a voter did in each DAO.
func profileOf(voter string, daos []warehouse.VoterDAO) governance.VoterProfile {
	var votes uint64
	power := decimal.Zero
	profile := governance.VoterProfile{
		VoterIdentity: voter, VoterAddress: voterAddress(voter),
		DAOCount: governance.CountOf(uint64(len(daos))), DAOs: make([]governance.VoterDAO, len(daos)),
	}
	for i, dao := range daos {
		votes += dao.Votes
		power = power.Add(dao.Power)
		count := governance.CountOf(dao.Votes)
		profile.DAOs[i] = governance.VoterDAO{
			DAOID: dao.DAOID, VoteCount: count, ProposalCount: count,
			TotalVotingPower: governance.DecimalOf(dao.Power),
			FirstVoteAt:      dao.FirstVoteAt, LastVoteAt: dao.LastVoteAt,
		}
	}
	profile.VoteCount, profile.ProposalCount = governance.CountOf(votes), governance.CountOf(votes)
	profile.TotalVotingPower = governance.DecimalOf(power)
	return profile
}

// voterVotes builds a page of a voter's votes.
func (p *page) voterVotes(ctx context.Context, q query.VoterVotes) (cache.View, error) {
	if err := p.setVoterHead(ctx); err != nil {
		return cache.View{}, err
	}
	rows, err := p.warehouse.ListVoterVotes(ctx, q)
	if err != nil {
		return cache.View{}, err
	}
	if len(rows) == 0 {
		// Either the query selects none of the voter's votes, or there is no such voter.
		daos, err := p.warehouse.VoterProfile(ctx, string(q.Voter))
		if err != nil || len(daos) == 0 {
			return p.absent(), err
		}
	}
	page := make([]governance.VoterVote, len(rows))
	for i, row := range rows {
		page[i] = governance.VoterVote{
			Proposal:        governance.VotedProposal{ProposalKey: row.Key, Title: governance.OptionalText(row.Title)},
			ChoiceKey:       governance.OptionalText(row.ChoiceKey),
			VotingPower:     governance.DecimalOf(row.Power),
			VotedAt:         row.VotedAt,
			TransactionHash: governance.OptionalText(row.TxHash),
		}
	}
	return cache.NewView(p.head, page)
}
