package api

import (
	"context"

	"pnyx/governance"
	"pnyx/governance/query"
)

// ballotRoutes are about the ballots of a proposal.
func ballotRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "proposals.votes", Path: governance.PathVotes, Tier: Plus,
			Title:   "List a proposal's ballots",
			Summary: "The ballots of one proposal: one a voter, the latest.",
			Returns: []governance.Ballot{}, Fresh: publishedFreshness(),
		}, handler[query.Ballots]{tags: pageTags[query.Ballots], answer: (*API).listBallots}),
	}
}

// listBallots answers GET /v2/proposals/:proposalKey/votes.
func (a *API) listBallots(ctx context.Context, r *request, q query.Ballots) (answer, error) {
	return listPage(ctx, a, r, &q, notFound("proposalKey", string(q.Proposal)))
}
