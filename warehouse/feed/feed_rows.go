package feed

import (
	"context"
	"slices"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// FeedEvent is an event of the feed.
type FeedEvent struct {
	Item FeedItem // what it is derived from
	governance.EventRow
	// Ref is the proposal that the event is about; zero for none.
	Ref record.RefHash
}

// FeedSignal is a signal of the feed.
type FeedSignal struct {
	Item FeedItem // what it is derived from
	governance.SignalRow
	// Ref is the proposal that the signal is about; zero for none.
	Ref      record.RefHash
	Surfaces []string // that show it
}

// StoredFeedRow identifies a stored row of the feed.
type StoredFeedRow struct {
	Item FeedItem // what it is derived from
	// Basis is the time by which this row of an event is listed; empty for signals.
	Basis        string
	At           governance.Timestamp // in its list
	ID           string               // of the event or signal
	DiscoveredAt governance.Timestamp // zero for signals
	DAOID        string               // of the list
	Ref          record.RefHash       `ch:"proposal_ref"` // zero for none
	Fingerprint  uint64
}

// feedRowKey is the sorting key of a row: the basis is empty for signals.
type feedRowKey struct {
	basis string
	at    governance.Timestamp
	id    string
}

func (r StoredFeedRow) key() feedRowKey { return feedRowKey{r.Basis, r.At, r.ID} }

// StoredEvents returns the stored events that are derived from the items, two rows for each event.
func (f Feed) StoredEvents(ctx context.Context, items []FeedItem) ([]StoredFeedRow, error) {
	return warehouse.Find[StoredFeedRow](ctx, f.w, "read stored events", sqlText("feed_rows_events"),
		warehouse.RefTable(items))
}

// StoredSignals returns the stored signals that are derived from the items.
func (f Feed) StoredSignals(ctx context.Context, items []FeedItem) ([]StoredFeedRow, error) {
	return warehouse.Find[StoredFeedRow](ctx, f.w, "read stored signals", sqlText("feed_rows_signals"),
		warehouse.RefTable(items))
}

// ReplaceEvents makes rows the stored events of some items. stored has all their stored rows. It writes the rows
// that differ, marks missing ones as gone, and returns the ids of both, by DAO.
func (f Feed) ReplaceEvents(
	ctx context.Context, revision uint64, stored []StoredFeedRow, rows []FeedEvent,
) (map[string][]string, error) {
	derived := make([]derivedRow, 0, 2*len(rows))
	for _, row := range rows {
		fingerprint := record.Fingerprint(row)
		for basis, at := range map[string]governance.Timestamp{
			string(query.EventTimeOccurred): row.EventTimeMs, string(query.EventTimeDiscovered): row.DiscoveredAt,
		} {
			key := feedRowKey{basis, at, row.EventID}
			values := func() []any { return row.values(key) }
			derived = append(derived, derivedRow{row.Item, key, row.DAOID, fingerprint, values})
		}
	}
	gone := func(r StoredFeedRow) []any {
		row := FeedEvent{Item: r.Item, Ref: r.Ref}
		row.DAOID, row.EventTimeMs, row.DiscoveredAt = r.DAOID, r.At, r.DiscoveredAt
		return row.values(r.key())
	}
	return f.replaceRows(ctx, "feed_rows_insert_events", revision, stored, derived, gone)
}

func (e FeedEvent) values(key feedRowKey) []any {
	return []any{
		key.basis, key.at.Time(), key.id, string(e.Item[:]), string(e.EventType), e.EventTimeMs.Time(),
		e.DiscoveredAt.Time(), string(e.EventTimeConfidence), e.DAOID, string(e.ItemType),
		string(e.Ref[:]), warehouse.TextOrEmpty(e.ProposalKey), warehouse.TextOrEmpty(e.Title), warehouse.TextOrEmpty(e.URL),
		uint8(e.ImportanceScore), //nolint:gosec // 0 to 100
	}
}

// ReplaceSignals is ReplaceEvents for signals.
func (f Feed) ReplaceSignals(
	ctx context.Context, revision uint64, stored []StoredFeedRow, rows []FeedSignal,
) (map[string][]string, error) {
	derived := make([]derivedRow, 0, len(rows))
	for _, row := range rows {
		key := feedRowKey{at: row.DetectedAt, id: row.SignalID}
		values := func() []any { return row.values(key) }
		derived = append(derived, derivedRow{row.Item, key, row.DAOID, record.Fingerprint(row), values})
	}
	gone := func(r StoredFeedRow) []any {
		row := FeedSignal{Item: r.Item, Ref: r.Ref}
		row.DAOID = r.DAOID
		return row.values(r.key())
	}
	return f.replaceRows(ctx, "feed_rows_insert_signals", revision, stored, derived, gone)
}

func (s FeedSignal) values(key feedRowKey) []any {
	return []any{
		key.at.Time(), key.id, string(s.Item[:]), string(s.SignalType), s.DAOID, string(s.Ref[:]),
		warehouse.TextOrEmpty(s.ProposalKey), s.Title, s.Summary, warehouse.TextOrEmpty(s.SourceURL), s.Actionability,
		s.Severity, uint8(s.Priority.Score), //nolint:gosec // 0 to 100
		warehouse.NonNilTexts(s.Surfaces), warehouse.TimeOrNull(s.DeadlineAtMs), string(s.Evidence),
	}
}

// derivedRow is a row that follows from the current records.
type derivedRow struct {
	item        FeedItem
	key         feedRowKey
	daoID       string
	fingerprint uint64
	// values returns the values of the columns up to the fingerprint.
	values func() []any
}

// replaceRows writes the derived rows that differ from the stored ones and marks stored
// rows that were not derived again as gone. It returns the ids that differ, by DAO.
func (f Feed) replaceRows(
	ctx context.Context, statement string, revision uint64,
	stored []StoredFeedRow, derived []derivedRow, gone func(StoredFeedRow) []any,
) (map[string][]string, error) {
	d := newFeedDiff(stored)
	changed := slices.DeleteFunc(derived, func(row derivedRow) bool { return !d.changes(row) })
	// An insert keeps one row of a key: the end of a row whose place another takes is one of its own.
	if err := f.writeRows(ctx, statement, revision-1, nil, d.displaced, gone); err != nil {
		return nil, err
	}
	return d.daos, f.writeRows(ctx, statement, revision, changed, d.removed(), gone)
}

// writeRows writes rows, and marks others as gone.
func (f Feed) writeRows(
	ctx context.Context, statement string, revision uint64,
	rows []derivedRow, removed []StoredFeedRow, gone func(StoredFeedRow) []any,
) error {
	values := warehouse.Values(rows, func(row derivedRow) []any { return append(row.values(), row.fingerprint, revision, uint8(0)) })
	for _, row := range removed {
		values = append(values, append(gone(row), uint64(0), revision, uint8(1)))
	}
	return warehouse.InsertRows(ctx, f.w, sqlText(statement), "write feed rows", values)
}

type feedDiff struct {
	stored []StoredFeedRow
	// unmatched has the stored rows that no derived row has replaced or confirmed yet.
	unmatched map[feedRowKey]StoredFeedRow
	// displaced are the stored rows whose place the row of another item takes: two topics that change numbers.
	displaced []StoredFeedRow
	// daos are the ids of rows that differ, by DAO.
	daos map[string][]string
}

func newFeedDiff(stored []StoredFeedRow) *feedDiff {
	d := &feedDiff{stored: stored, unmatched: make(map[feedRowKey]StoredFeedRow, len(stored)), daos: map[string][]string{}}
	for _, row := range stored {
		d.unmatched[row.key()] = row
	}
	return d
}

// changes reports whether a derived row differs from the stored one and has to be written.
func (d *feedDiff) changes(derived derivedRow) bool {
	row, exists := d.unmatched[derived.key]
	delete(d.unmatched, derived.key)
	if exists && row.Fingerprint == derived.fingerprint {
		return false
	}
	if exists && row.Item != derived.item {
		d.displaced = append(d.displaced, row)
	}
	if exists && row.DAOID != derived.daoID { // a recorded one, whose DAO was corrected
		d.daos[row.DAOID] = append(d.daos[row.DAOID], row.ID)
	}
	d.daos[derived.daoID] = append(d.daos[derived.daoID], derived.key.id)
	return true
}

func (d *feedDiff) removed() []StoredFeedRow {
	var removed []StoredFeedRow
	for _, row := range d.stored {
		if _, unmatched := d.unmatched[row.key()]; unmatched {
			d.daos[row.DAOID] = append(d.daos[row.DAOID], row.ID)
			removed = append(removed, row)
		}
	}
	return removed
}
