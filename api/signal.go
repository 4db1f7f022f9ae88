package api

import (
	"context"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
)

// signalsRoute is the list of signals in the table of routes.
func signalsRoute() Route {
	return Route{
		ID: "signals.list", Path: "/v2/signals", Tier: Standard,
		Summary: "What deserves attention, detected in a window of at most 90 days.",
		Params: []Param{
			{Name: "daoId", Kind: Text, Description: "Only signals of this DAO.", Example: "uniswap"},
			{Name: "from", Kind: Instant, Required: true, Description: "Only signals detected at or after this time.", Example: "2026-01-01"},
			{Name: "to", Kind: Instant, Required: true, Description: "Only signals detected before this time.", Example: "2026-02-01"},
			{Name: "signalType", Kind: EnumList, Enum: rules.SignalTypeNames(), Description: "Only signals of these types.", Example: "proposal_deadline_reminder"},
			{Name: "priorityMin", Kind: Integer, Max: 100, Description: "Only signals of at least this priority score.", Example: "70"},
			{Name: "surface", Kind: Enum, Enum: surfaceTexts(), Default: string(governance.AgentSurface), Description: "The view: agent has every signal, the others less and less.", Example: string(governance.AtlasPriority)},
			{Name: "sort", Kind: Enum, Enum: []string{governance.PriorityDescending, governance.DetectedDescending, governance.DeadlineAscending}, Default: governance.PriorityDescending, Description: "Highest priority, latest detection or nearest deadline first; those without a deadline last.", Example: governance.DeadlineAscending},
			cursorParam(),
			limitParam(50, 100),
		},
		check:   checkWindow(longestWindow),
		Returns: []governance.Signal{},
		Fresh:   publishedFreshness(), tags: listTags(cache.SignalPage),
		answer: (*API).listSignals,
	}
}

func (a *API) listSignals(ctx context.Context, values Values) (answer, error) {
	order := values.text("sort")
	request := cache.PageRequest{
		Kind: cache.SignalPage, Order: order,
		Filter: cache.Filter{
			DAOID: values.text("daoId"), From: values.instant("from"), To: values.instant("to"),
			Types: values.list("signalType"), Least: values.integer("priorityMin"), Surface: values.text("surface"),
		},
	}
	return listPage(ctx, a, values, request, func(s governance.SignalRow) cache.Position {
		position := cache.Position{Number: int64(s.Priority.Score), At: &s.DetectedAt, Key: s.SignalID}
		if order == governance.DeadlineAscending {
			position.At = s.DeadlineAtMs
		}
		return position
	}, notFound("daoId", request.Filter.DAOID))
}

func surfaceTexts() []string {
	var names []string
	for _, surface := range governance.Surfaces() {
		names = append(names, string(surface))
	}
	return names
}
