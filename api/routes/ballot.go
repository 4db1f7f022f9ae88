package routes

import (
	"pnyx/api/httpcache"
	"pnyx/governance"
	"pnyx/governance/query"
)

func ballotRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "proposals.votes", Path: governance.PathVotes, Tier: governance.Plus,
			Title:   "List a proposal's ballots",
			Summary: "The ballots of one proposal: one a voter, the latest.",
			Returns: []governance.Ballot{}, Fresh: httpcache.Published(),
		}, listHandler(query.Ballots.PositionOf)),
	}
}
