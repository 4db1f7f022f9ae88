package api

import (
	"context"

	"pnyx/governance"
	"pnyx/governance/query"
)

// signalRoutes are about what deserves attention.
func signalRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "signals.list", Path: "/v2/signals", Tier: Standard,
			Title:   "List signals",
			Summary: "What deserves attention, detected in a window of at most 90 days.",
			Returns: []governance.Signal{}, Fresh: publishedFreshness(),
		}, handler[query.Signals]{tags: pageTags[query.Signals], check: checkSignals, answer: (*API).listSignals}),
	}
}

func checkSignals(q query.Signals) []Problem {
	return timeRange{"from", "to", q.From, q.To}.checkWindow(maxFeedWindow)
}

// listSignals answers GET /v2/signals.
func (a *API) listSignals(ctx context.Context, r *request, q query.Signals) (answer, error) {
	return listPage(ctx, a, r, &q, notFound("daoId", q.DAOID))
}
