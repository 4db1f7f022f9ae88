package api

import (
	"context"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
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
			Returns: []governance.Ballot{}, Fresh: httpcache.Published(),
		}, handler[query.Ballots]{tags: pageTags[query.Ballots], answer: (*Backend).listBallots}),
	}
}

// listBallots answers GET /v2/proposals/:proposalKey/votes.
func (b *Backend) listBallots(ctx context.Context, r *request, q query.Ballots) (answer, error) {
	return listPage(ctx, b, r, &q, apierror.NotFound("proposalKey", string(q.Proposal)))
}
