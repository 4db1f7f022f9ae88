package routes

import (
	"context"

	"pnyx/api/httpcache"
	"pnyx/api/param"
	"pnyx/governance"
	"pnyx/governance/query"
)

func signalRoutes() []Route {
	return []Route{
		handleChecked(Route{
			ID: "signals.list", Path: "/v2/signals", Tier: governance.Standard,
			Title:   "List signals",
			Summary: "What deserves attention, detected in a window of at most 90 days.",
			Returns: []governance.Signal{}, Fresh: httpcache.Signal(),
		}, (*Backend).listSignals, func(q query.Signals) []param.Problem {
			return param.CheckWindow(q.From, q.To, MaxFeedWindow)
		}),
	}
}

// listSignals answers GET /v2/signals. What can be done depends on the time: it is fresh until the next deadline.
func (b *Backend) listSignals(ctx context.Context, r *Request, q query.Signals) (Answer, error) {
	limit := q.Limit
	rows, cursors, found, err := readPage(ctx, b, r, &q, r.missing())
	if err != nil {
		return Answer{}, err
	}
	asOf := &found.View.DataAsOf
	if q.After != nil {
		asOf = q.After.AsOf
	}
	now := governance.TimestampOf(b.Now())
	found.Dated = true
	if next := nextDeadline(rows[:min(limit, len(rows))], now); next != nil && (found.View.FreshUntil == nil || *next < *found.View.FreshUntil) {
		found.View.FreshUntil = next
	}
	for i := range rows {
		rows[i].Signal = rows[i].At(now)
	}
	return cutPage(r, cursors, limit, rows, func(row governance.SignalRow) query.SignalPosition {
		position := q.PositionOf(row)
		if q.Order == query.SignalsByDeadline {
			position.AsOf = asOf
		}
		return position
	}, found)
}

// nextDeadline returns the earliest deadline of signals after a time; nil for none.
func nextDeadline(rows []governance.SignalRow, now governance.Timestamp) (next *governance.Timestamp) {
	for _, row := range rows {
		if at := row.DeadlineAtMs; at != nil && *at > now && (next == nil || *at < *next) {
			next = at
		}
	}
	return next
}
