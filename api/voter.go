package api

import (
	"context"

	"pnyx/cache"
	"pnyx/governance"
)

func (a *API) listDAOVoters(ctx context.Context, values Values) (answer, error) {
	id := values.text("daoId")
	request := cache.PageRequest{Kind: cache.VoterPage, Subject: id}
	return listPage(ctx, a, values, request, func(v governance.DAOVoter) cache.Position {
		return cache.Position{Power: v.TotalVotingPower, Key: v.VoterIdentity}
	}, notFound("daoId", id))
}

func (a *API) voterProfile(ctx context.Context, values Values) (answer, error) {
	voter := values.text("voterIdentity")
	request := cache.PageRequest{Kind: cache.ProfilePage, Subject: voter}
	view, from, err := a.page(ctx, request, notFound("voterIdentity", voter))
	if err != nil {
		return answer{}, err
	}
	var profile governance.VoterProfile
	if err := view.Decode(&profile); err != nil {
		return answer{}, unavailable(err)
	}
	return answer{data: profile, view: view, source: from}, nil
}

func (a *API) listVoterVotes(ctx context.Context, values Values) (answer, error) {
	voter := values.text("voterIdentity")
	request := cache.PageRequest{
		Kind: cache.HistoryPage, Subject: voter,
		Filter: cache.Filter{DAOID: values.text("daoId"), From: values.instant("from"), To: values.instant("to")},
	}
	return listPage(ctx, a, values, request, func(v governance.VoterVote) cache.Position {
		return cache.Position{At: v.VotedAt, Key: string(v.Proposal.ProposalKey)}
	}, notFound("voterIdentity", voter))
}
