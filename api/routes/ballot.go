package routes

import (
	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/governance"
	"pnyx/governance/query"
)

func ballotRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "proposals.votes", Path: governance.PathVotes, Tier: Plus,
			Title:   "List a proposal's ballots",
			Summary: "The ballots of one proposal: one a voter, the latest.",
			Returns: []governance.Ballot{}, Fresh: httpcache.Published(),
		}, handler[query.Ballots]{
			tags:   pageTags[query.Ballots],
			answer: listHandler(func(q *query.Ballots) *apierror.Error { return apierror.NotFound("proposalKey", string(q.Proposal)) }),
		}),
	}
}
