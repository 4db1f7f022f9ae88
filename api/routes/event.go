package routes

import (
	"time"

	"pnyx/api/httpcache"
	"pnyx/api/param"
	"pnyx/governance"
	"pnyx/governance/query"
)

// MaxFeedWindow is the maximum window of events or signals that one request may list.
const MaxFeedWindow = 90 * 24 * time.Hour

func eventRoutes() []Route {
	return []Route{
		handleChecked(Route{
			ID: "events.list", Path: "/v2/events", Tier: governance.Standard,
			Title:   "List events",
			Summary: "What happened in a window of at most 90 days, newest first.",
			Returns: []governance.Event{}, Fresh: httpcache.Published(),
		}, listHandler(query.Events.PositionOf), func(q query.Events) []param.Problem {
			return param.CheckWindow(q.From, q.To, MaxFeedWindow)
		}),
	}
}
