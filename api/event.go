package api

import (
	"context"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
)

// longestWindow is how many days of events or signals are listed at a time.
const longestWindow = 90

// eventsRoute is the list of events in the table of routes.
func eventsRoute() Route {
	return Route{
		ID: "events.list", Path: "/v2/events", Tier: Standard,
		Summary: "What happened in a window of at most 90 days, newest first.",
		Params: []Param{
			{Name: "daoId", Kind: Text, Description: "Only events of this DAO.", Example: "uniswap"},
			{Name: "from", Kind: Instant, Required: true, Description: "Only events at or after this time.", Example: "2026-01-01"},
			{Name: "to", Kind: Instant, Required: true, Description: "Only events before this time.", Example: "2026-02-01"},
			{Name: "eventType", Kind: EnumList, Enum: rules.EventTypeNames(), Description: "Only events of these types.", Example: "voting_ended,quorum_reached"},
			{Name: "timeBasis", Kind: Enum, Enum: []string{governance.ByEventTime, governance.ByDiscoveredTime}, Default: governance.ByEventTime, Description: "The time that the window and the order go by: when it happened, or when it was first seen here.", Example: governance.ByDiscoveredTime},
			{Name: "importanceMin", Kind: Integer, Max: 100, Description: "Only events of at least this importance.", Example: "50"},
			cursorParam(),
			limitParam(100, 200),
		},
		check:   checkWindow(longestWindow),
		Returns: []governance.Event{},
		Fresh:   publishedFreshness(), tags: listTags(cache.EventPage),
		answer: (*API).listEvents,
	}
}

func (a *API) listEvents(ctx context.Context, values Values) (answer, error) {
	basis := values.text("timeBasis")
	request := cache.PageRequest{
		Kind: cache.EventPage,
		Filter: cache.Filter{
			DAOID: values.text("daoId"), TimeField: basis, From: values.instant("from"), To: values.instant("to"),
			Types: values.list("eventType"), Least: values.integer("importanceMin"),
		},
	}
	return listPage(ctx, a, values, request, func(e governance.EventRow) cache.Position {
		if basis == governance.ByDiscoveredTime {
			return cache.Position{At: &e.DiscoveredAt, Key: e.EventID}
		}
		return cache.Position{At: &e.EventTimeMs, Key: e.EventID}
	}, notFound("daoId", request.Filter.DAOID))
}
