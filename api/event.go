package api

import (
	"context"
	"time"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/param"
	"pnyx/governance"
	"pnyx/governance/query"
)

// maxFeedWindow is the maximum window of events or signals that one request may list.
const maxFeedWindow = 90 * 24 * time.Hour

// eventRoutes are about what happened.
func eventRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "events.list", Path: "/v2/events", Tier: Standard,
			Title:   "List events",
			Summary: "What happened in a window of at most 90 days, newest first.",
			Returns: []governance.Event{}, Fresh: httpcache.Published(),
		}, handler[query.Events]{tags: pageTags[query.Events], check: checkEvents, answer: (*Backend).listEvents}),
	}
}

func checkEvents(q query.Events) []param.Problem {
	return param.Between("from", q.From, "to", q.To).CheckWindow(maxFeedWindow)
}

// listEvents answers GET /v2/events.
func (b *Backend) listEvents(ctx context.Context, r *request, q query.Events) (answer, error) {
	return listPage(ctx, b, r, &q, apierror.NotFound("daoId", q.DAOID))
}
