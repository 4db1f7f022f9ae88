package feed

import (
	"context"
	"errors"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/warehouse"
)

// EventRows selects rows of events; a condition follows.
const EventRows = `SELECT
    event_id,
    event_type,
    event_time AS event_time_ms,
    discovered_at,
    confidence AS event_time_confidence,
    dao_id,
    item_type,
    proposal_key,
    title,
    url,
    importance AS importance_score
FROM feed_events FINAL
`

// errNoWindow reports a query for events or signals without the required time window.
var errNoWindow = errors.New("the query has no window of time")

// ListEvents returns the first q.Limit events after q.After that q selects, but none that happens after shown.
func ListEvents(
	ctx context.Context, w *warehouse.Warehouse, q query.Events, shown governance.Timestamp,
) ([]governance.EventRow, error) {
	if q.From == nil || q.To == nil {
		return nil, errNoWindow
	}
	last := min(*q.To-1, shown)
	after := query.EventPosition{}
	if q.After != nil {
		after = *q.After
		last = min(last, after.At)
	}
	return warehouse.Find[governance.EventRow](ctx, w, "read a page of events", EventRows+sqlText("feed_page_events"),
		clickhouse.Named("basis", string(q.Basis)), clickhouse.Named("dao", q.DAOID),
		clickhouse.Named("from", int64(*q.From)), clickhouse.Named("last", int64(last)),
		clickhouse.Named("types", warehouse.NonNilTexts(q.Types)), clickhouse.Named("least", q.MinImportance),
		clickhouse.Named("after_at", int64(after.At)), clickhouse.Named("after_id", after.ID),
		clickhouse.Named("limit", q.Limit))
}

// signalRanks returns the two numbers by which an order sorts signals before it sorts
// them by id. Deadlines are past or to come as of a time.
func signalRanks(order query.SignalOrder, p query.SignalPosition, asOf governance.Timestamp) (first, second int64) {
	var at governance.Timestamp
	if p.At != nil {
		at = *p.At
	}
	switch {
	case order == query.SignalsByPriority:
		return -p.Score, -int64(at)
	case order == query.SignalsByDetection:
		return -int64(at), -int64(at)
	case p.At == nil:
		return 2, 0
	case at <= asOf:
		return 1, -int64(at)
	}
	return 0, int64(at)
}

// ListSignals returns the first q.Limit signals after q.After that q selects. It omits signals
// detected later than shown. The orders by priority (then time of detection) and by time of
// detection are descending, with the id last. The order by deadline and then id is ascending from
// asOf on; past deadlines follow, the latest first, and signals without one at the end.
func ListSignals(
	ctx context.Context, w *warehouse.Warehouse, q query.Signals, shown, asOf governance.Timestamp,
) ([]governance.SignalRow, error) {
	if q.From == nil || q.To == nil {
		return nil, errNoWindow
	}
	var first, second int64
	var after string
	if q.After != nil {
		first, second = signalRanks(q.Order, *q.After, asOf)
		after = q.After.ID
	}
	page, err := warehouse.Find[governance.SignalRow](ctx, w, "read a page of signals", sqlText("feed_page_signals"),
		clickhouse.Named("order", string(q.Order)), clickhouse.Named("dao", q.DAOID),
		clickhouse.Named("surface", string(q.Surface)),
		clickhouse.Named("from", int64(*q.From)), clickhouse.Named("last", int64(min(*q.To-1, shown))),
		clickhouse.Named("types", warehouse.NonNilTexts(q.Types)), clickhouse.Named("least", q.MinPriority),
		clickhouse.Named("as_of", int64(asOf)),
		clickhouse.Named("after_first", first), clickhouse.Named("after_second", second),
		clickhouse.Named("after_id", after), clickhouse.Named("limit", q.Limit))
	for i := range page {
		page[i].Priority = rules.PriorityOf(page[i].Priority.Score)
	}
	return page, err
}
