package warehouse

import (
	"context"
	"math"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance"
	"pnyx/governance/rules"
)

// EventFilter selects events; zero fields select all.
type EventFilter struct {
	DAOID string
	// Basis is the time that From, To and the order go by.
	Basis string
	// From is inclusive, To exclusive. Nothing later than Shown is returned: it has not
	// happened yet.
	From, To, Shown governance.Timestamp
	Types           []string
	Importance      int
	// After is the last row of the page before.
	After *EventPosition
}

// EventPosition is a place in the list of events.
type EventPosition struct {
	At governance.Timestamp
	ID string
}

// Events returns the first limit events that a filter lets through: the newest
// first, those at one time by id, descending.
func (w *Warehouse) Events(ctx context.Context, f EventFilter, limit int) ([]governance.EventRow, error) {
	last := min(f.To-1, f.Shown)
	after := EventPosition{}
	if f.After != nil {
		after = *f.After
		last = min(last, after.At)
	}
	rows, err := w.conn.Query(ctx, sqlText("feed_page_events"),
		clickhouse.Named("basis", f.Basis), clickhouse.Named("dao", f.DAOID),
		clickhouse.Named("from", int64(f.From)), clickhouse.Named("last", int64(last)),
		clickhouse.Named("types", nonNilTexts(f.Types)), clickhouse.Named("least", f.Importance),
		clickhouse.Named("after_at", int64(after.At)), clickhouse.Named("after_id", after.ID),
		clickhouse.Named("limit", limit))
	return collect(rows, err, "read a page of events", scanEvent)
}

func scanEvent(rows scanner) (e governance.EventRow, err error) {
	var at, discovered time.Time
	var confidence, item, key, title, url string
	var importance uint8
	err = rows.Scan(&e.EventID, &e.EventType, &at, &discovered, &confidence, &e.DAOID, &item, &key, &title, &url, &importance)
	e.EventTimeMs, e.DiscoveredAt = governance.TimestampOf(at), governance.TimestampOf(discovered)
	e.EventTimeConfidence, e.ItemType = governance.Confidence(confidence), governance.ItemType(item)
	e.ProposalKey = keyOrNull(key)
	e.Title, e.URL, e.ImportanceScore = textOrNull(title), textOrNull(url), int(importance)
	return e, err
}

func keyOrNull(key string) *governance.ProposalKey {
	if key == "" {
		return nil
	}
	found := governance.ProposalKey(key)
	return &found
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// SignalFilter selects signals; zero fields select all.
type SignalFilter struct {
	DAOID   string
	Surface string
	// From, To and Shown are as in EventFilter, and bound when a signal was detected.
	From, To, Shown governance.Timestamp
	Types           []string
	Priority        int
	Order           string
	After           *SignalPosition
}

// SignalPosition is a place in an order of signals.
type SignalPosition struct {
	// Score is set in the order by priority. At is when the signal was detected, or in
	// the order by deadlines its deadline; nil for none.
	Score int64
	At    *governance.Timestamp
	ID    string
}

// noDeadline stands behind every deadline.
const noDeadline = math.MaxInt64

// ranks are the numbers that the order compares before the id.
func (p SignalPosition) ranks(order string) (first, second int64) {
	at := int64(noDeadline)
	if p.At != nil {
		at = int64(*p.At)
	}
	switch order {
	case governance.PriorityDescending:
		return -p.Score, -at
	case governance.DetectedDescending:
		return -at, 0
	}
	return at, 0
}

// Signals returns the first limit signals that a filter lets through, in its order:
// by priority and then time of detection, or by time of detection alone, the highest
// first, then by id, descending; or by deadline and then by id, ascending, those
// without a deadline last.
func (w *Warehouse) Signals(ctx context.Context, f SignalFilter, limit int) ([]governance.SignalRow, error) {
	var first, second int64
	var after string
	if f.After != nil {
		first, second = f.After.ranks(f.Order)
		after = f.After.ID
	}
	rows, err := w.conn.Query(ctx, sqlText("feed_page_signals"),
		clickhouse.Named("order", f.Order), clickhouse.Named("dao", f.DAOID), clickhouse.Named("surface", f.Surface),
		clickhouse.Named("from", int64(f.From)), clickhouse.Named("last", int64(min(f.To-1, f.Shown))),
		clickhouse.Named("types", nonNilTexts(f.Types)), clickhouse.Named("least", f.Priority),
		clickhouse.Named("no_deadline", int64(noDeadline)),
		clickhouse.Named("after_first", first), clickhouse.Named("after_second", second),
		clickhouse.Named("after_id", after), clickhouse.Named("limit", limit))
	return collect(rows, err, "read a page of signals", scanSignal)
}

func scanSignal(rows scanner) (s governance.SignalRow, err error) {
	var key, url, evidence string
	var score uint8
	var detected time.Time
	var deadline *time.Time
	err = rows.Scan(&s.SignalID, &s.SignalType, &s.DAOID, &key, &s.Title, &s.Summary, &url, &s.Actionability,
		&s.Severity, &score, &detected, &deadline, &evidence)
	s.ProposalKey, s.SourceURL = keyOrNull(key), textOrNull(url)
	s.Priority = rules.PriorityOf(int(score))
	s.DetectedAt, s.DeadlineAtMs = governance.TimestampOf(detected), timestampOf(deadline)
	s.Evidence = []byte(evidence)
	return s, err
}
