package api

import (
	"context"

	"pnyx/api/param"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
)

// rankingRoutes are about the voters of one DAO.
func rankingRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "daos.voters", Path: "/v2/daos/:daoId/voters", Tier: Plus,
			Title:   "List a DAO's voters",
			Summary: "The voters of one DAO, ranked by their voting power over all its proposals.",
			Returns: []governance.DAOVoter{}, Fresh: publishedFreshness(),
		}, handler[query.Voters]{tags: pageTags[query.Voters], answer: (*API).listDAOVoters}),
	}
}

// voterRoutes are about one voter.
func voterRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "voters.profile", Path: "/v2/voters/:voterIdentity", Tier: Plus,
			Title:   "Get a voter",
			Summary: "One voter over all DAOs.",
			Returns: governance.VoterProfile{}, Fresh: voterFreshness(),
		}, handler[query.Profile]{
			tags:   func(q query.Profile) []cache.Tag { return voterTags(q.Voter) },
			answer: (*API).voterProfile,
		}),
		handle(Route{
			ID: "voters.votes", Path: "/v2/voters/:voterIdentity/votes", Tier: Plus,
			Title:   "List a voter's ballots",
			Summary: "What one voter voted, newest first.",
			Returns: []governance.VoterVote{}, Fresh: voterFreshness(),
		}, handler[query.VoterVotes]{
			tags:  func(q query.VoterVotes) []cache.Tag { return voterTags(q.Voter) },
			check: checkVoterVotes, answer: (*API).listVoterVotes,
		}),
	}
}

func voterTags(voter query.Voter) []cache.Tag { return []cache.Tag{cache.VoterTag(string(voter))} }

func checkVoterVotes(q query.VoterVotes) []param.Problem {
	return param.Between("from", q.From, "to", q.To).CheckOrder()
}

// listDAOVoters answers GET /v2/daos/:daoId/voters.
func (a *API) listDAOVoters(ctx context.Context, r *request, q query.Voters) (answer, error) {
	return listPage(ctx, a, r, &q, notFound("daoId", q.DAOID))
}

// voterProfile answers GET /v2/voters/:voterIdentity.
func (a *API) voterProfile(ctx context.Context, _ *request, q query.Profile) (answer, error) {
	view, from, err := a.page(ctx, cache.NewPageRequest(q), notFound("voterIdentity", string(q.Voter)))
	if err != nil {
		return answer{}, err
	}
	var profile governance.VoterProfile
	if err := view.Decode(&profile); err != nil {
		return answer{}, unavailable(err)
	}
	return answer{data: profile, view: view, source: from}, nil
}

// listVoterVotes answers GET /v2/voters/:voterIdentity/votes.
func (a *API) listVoterVotes(ctx context.Context, r *request, q query.VoterVotes) (answer, error) {
	return listPage(ctx, a, r, &q, notFound("voterIdentity", string(q.Voter)))
}
