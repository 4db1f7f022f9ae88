package routes

import (
	"context"

	"pnyx/api/httpcache"
	"pnyx/api/param"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
)

func rankingRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "daos.voters", Path: "/v2/daos/:daoId/voters", Tier: governance.Plus,
			Title:   "List a DAO's voters",
			Summary: "The voters of one DAO, ranked by their voting power over all its proposals.",
			Returns: []governance.DAOVoter{}, Fresh: httpcache.Published(),
		}, listHandler(query.Voters.PositionOf)),
	}
}

func voterRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "voters.profile", Path: "/v2/voters/:voterIdentity", Tier: governance.Plus,
			Title:   "Get a voter",
			Summary: "One voter over all DAOs.",
			Returns: governance.VoterProfile{}, Fresh: httpcache.Voter(),
		}, (*Backend).voterProfile),
		handleChecked(Route{
			ID: "voters.votes", Path: "/v2/voters/:voterIdentity/votes", Tier: governance.Plus,
			Title:   "List a voter's ballots",
			Summary: "What one voter voted, newest first.",
			Returns: []governance.VoterVote{}, Fresh: httpcache.Voter(),
		}, listHandler(query.VoterVotes.PositionOf), func(q query.VoterVotes) []param.Problem {
			return param.CheckOrder("from", q.From, "to", q.To)
		}),
	}
}

func (b *Backend) voterProfile(ctx context.Context, r *Request, q query.Profile) (Answer, error) {
	var profile governance.VoterProfile
	answer, err := readPageOf(ctx, b, cache.NewPageRequest(q), &profile, r.missing())
	answer.Data = profile
	return answer, err
}
