package api

import (
	"context"

	"pnyx/cache"
	"pnyx/governance"
)

// evidenceRoutes are about what the data of a proposal rests on.
func evidenceRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "proposals.evidence", Path: pathEvidence, Tier: Plus,
			Title: "Get a proposal's evidence",
			Summary: "What one proposal's data rests on: where each field came from, an analysis where there is one, " +
				"quality flags, and conflicts between sources.",
			Returns: governance.Evidence{}, Fresh: publishedFreshness(),
		}, handler[proposalParams]{tags: proposalParams.tags, answer: (*API).evidence}),
	}
}

// evidence answers GET /v2/proposals/:proposalKey/evidence.
func (a *API) evidence(ctx context.Context, _ *request, p proposalParams) (answer, error) {
	var evidence governance.Evidence
	view, err := a.view(ctx, cache.EvidenceKey(p.Key), &evidence, notFound("proposalKey", string(p.Key)))
	// A view of a worker of an earlier version has none.
	evidence.Corrections = append([]governance.Correction{}, evidence.Corrections...)
	return answer{data: evidence, view: view, source: sourceRedis}, err
}
