package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// FeedEvent is an event of the chronicle.
type FeedEvent struct {
	Item FeedItem
	governance.EventRow
	// Ref is the proposal that the event is about; zero for none.
	Ref record.RefHash
}

// FeedSignal is a signal of the chronicle.
type FeedSignal struct {
	Item FeedItem
	governance.SignalRow
	// Ref is the proposal that the signal is about; zero for none.
	Ref      record.RefHash
	Surfaces []string
}

// StoredFeedRow is what is known of a row that the chronicle holds.
type StoredFeedRow struct {
	Item  FeedItem
	Basis string
	At    governance.Timestamp
	ID    string
	// DiscoveredAt is zero for signals.
	DiscoveredAt governance.Timestamp
	DAOID        string
	Ref          record.RefHash
	fingerprint  uint64
}

// key is where a row stands in its table.
type feedRowKey struct {
	basis string
	at    governance.Timestamp
	id    string
}

func (h StoredFeedRow) key() feedRowKey {
	return feedRowKey{h.Basis, h.At, h.ID}
}

// StoredFeedEvents returns the rows that follow from the items.
func (w *Warehouse) StoredFeedEvents(ctx context.Context, items []FeedItem) ([]StoredFeedRow, error) {
	rows, err := w.queryRefs(ctx, sqlText("feed_rows_events"), items)
	return collect(rows, err, "read the events of items", func(rows scanner) (h StoredFeedRow, err error) {
		var item, ref string
		var at, discovered time.Time
		err = rows.Scan(&item, &h.Basis, &at, &h.ID, &discovered, &h.DAOID, &ref, &h.fingerprint)
		h.Item, h.Ref = hashOf(item), hashOf(ref)
		h.At, h.DiscoveredAt = governance.TimestampOf(at), governance.TimestampOf(discovered)
		return h, err
	})
}

// StoredFeedSignals returns the rows that follow from the items.
func (w *Warehouse) StoredFeedSignals(ctx context.Context, items []FeedItem) ([]StoredFeedRow, error) {
	rows, err := w.queryRefs(ctx, sqlText("feed_rows_signals"), items)
	return collect(rows, err, "read the signals of items", func(rows scanner) (h StoredFeedRow, err error) {
		var item, ref string
		var at time.Time
		err = rows.Scan(&item, &at, &h.ID, &h.DAOID, &ref, &h.fingerprint)
		h.Item, h.Ref, h.At = hashOf(item), hashOf(ref), governance.TimestampOf(at)
		return h, err
	})
}

// ReplaceFeedEvents writes what differs between the rows held of some items and all
// that follow from them now, and returns the DAOs of what differs.
func (w *Warehouse) ReplaceFeedEvents(
	ctx context.Context, revision uint64, held []StoredFeedRow, rows []FeedEvent,
) (map[string]bool, error) {
	d := newFeedDiff(held)
	insert, err := w.conn.PrepareBatch(ctx, sqlText("feed_rows_insert_events"))
	if err != nil {
		return nil, fmt.Errorf("write events: %w", err)
	}
	defer insert.Close()
	put := func(row FeedEvent, at feedRowKey, fingerprint uint64, gone uint8) error {
		key := ""
		if row.ProposalKey != nil {
			key = string(*row.ProposalKey)
		}
		return insert.Append(at.basis, at.at.Time(), at.id, string(row.Item[:]), row.EventType, row.EventTimeMs.Time(),
			row.DiscoveredAt.Time(), string(row.EventTimeConfidence), row.DAOID, string(row.ItemType), string(row.Ref[:]),
			key, textOrEmpty2(row.Title), textOrEmpty2(row.URL), uint8(row.ImportanceScore), fingerprint, revision, gone) //nolint:gosec // 0 to 100
	}
	for _, row := range rows {
		fingerprint, err := rowFingerprint(row)
		if err != nil {
			return nil, err
		}
		for basis, at := range map[string]governance.Timestamp{
			governance.ByEventTime: row.EventTimeMs, governance.ByDiscoveredTime: row.DiscoveredAt,
		} {
			where := feedRowKey{basis, at, row.EventID}
			if !d.changes(where, row.DAOID, fingerprint) {
				continue
			}
			if err := put(row, where, fingerprint, 0); err != nil {
				return nil, fmt.Errorf("write event %s: %w", row.EventID, err)
			}
		}
	}
	for _, h := range d.removed() {
		row := FeedEvent{Item: h.Item, Ref: h.Ref}
		row.DAOID, row.EventTimeMs, row.DiscoveredAt = h.DAOID, h.At, h.DiscoveredAt
		if err := put(row, h.key(), 0, 1); err != nil {
			return nil, fmt.Errorf("remove event %s: %w", h.ID, err)
		}
	}
	if len(d.daos) == 0 {
		return d.daos, nil
	}
	if err := insert.Send(); err != nil {
		return nil, fmt.Errorf("write events: %w", err)
	}
	return d.daos, nil
}

// ReplaceFeedSignals is ReplaceFeedEvents for signals.
func (w *Warehouse) ReplaceFeedSignals(
	ctx context.Context, revision uint64, held []StoredFeedRow, rows []FeedSignal,
) (map[string]bool, error) {
	d := newFeedDiff(held)
	insert, err := w.conn.PrepareBatch(ctx, sqlText("feed_rows_insert_signals"))
	if err != nil {
		return nil, fmt.Errorf("write signals: %w", err)
	}
	defer insert.Close()
	put := func(row FeedSignal, at feedRowKey, fingerprint uint64, gone uint8) error {
		key := ""
		if row.ProposalKey != nil {
			key = string(*row.ProposalKey)
		}
		return insert.Append(at.at.Time(), at.id, string(row.Item[:]), row.SignalType, row.DAOID, string(row.Ref[:]), key,
			row.Title, row.Summary, textOrEmpty2(row.SourceURL), row.Actionability, row.Severity,
			uint8(row.Priority.Score), nonNilTexts(row.Surfaces), timeOrNull(row.DeadlineAtMs), string(row.Evidence), //nolint:gosec // 0 to 100
			fingerprint, revision, gone)
	}
	for _, row := range rows {
		fingerprint, err := rowFingerprint(row)
		if err != nil {
			return nil, err
		}
		where := feedRowKey{at: row.DetectedAt, id: row.SignalID}
		if !d.changes(where, row.DAOID, fingerprint) {
			continue
		}
		if err := put(row, where, fingerprint, 0); err != nil {
			return nil, fmt.Errorf("write signal %s: %w", row.SignalID, err)
		}
	}
	for _, h := range d.removed() {
		row := FeedSignal{Item: h.Item, Ref: h.Ref}
		row.DAOID = h.DAOID
		if err := put(row, h.key(), 0, 1); err != nil {
			return nil, fmt.Errorf("remove signal %s: %w", h.ID, err)
		}
	}
	if len(d.daos) == 0 {
		return d.daos, nil
	}
	if err := insert.Send(); err != nil {
		return nil, fmt.Errorf("write signals: %w", err)
	}
	return d.daos, nil
}

func textOrEmpty2(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// rowFingerprint tells a row that says something new from one that does not.
func rowFingerprint(row any) (uint64, error) {
	content, err := msgpack.Marshal(row)
	if err != nil {
		return 0, fmt.Errorf("fingerprint of a row: %w", err)
	}
	return xxhash.Sum64(content), nil
}

// feedDiff holds new rows against those held.
type feedDiff struct {
	stored []StoredFeedRow
	left   map[feedRowKey]StoredFeedRow
	daos   map[string]bool
}

func newFeedDiff(held []StoredFeedRow) feedDiff {
	d := feedDiff{stored: held, left: make(map[feedRowKey]StoredFeedRow, len(held)), daos: map[string]bool{}}
	for _, h := range held {
		d.left[h.key()] = h
	}
	return d
}

// changes says whether a row is to be written.
func (d feedDiff) changes(at feedRowKey, daoID string, fingerprint uint64) bool {
	h, exists := d.left[at]
	delete(d.left, at)
	if exists && h.fingerprint == fingerprint {
		return false
	}
	d.daos[daoID] = true
	return true
}

// removed returns the rows held that nothing follows from any more.
func (d feedDiff) removed() []StoredFeedRow {
	var gone []StoredFeedRow
	for _, h := range d.stored {
		if _, left := d.left[h.key()]; left {
			d.daos[h.DAOID] = true
			gone = append(gone, h)
		}
	}
	return gone
}

// WriteFeedProgress notes up to where the chronicle has caught up, by an edition of
// the rules.
func (w *Warehouse) WriteFeedProgress(ctx context.Context, rulesVersion uint64, items []FeedProgress) error {
	if len(items) == 0 {
		return nil
	}
	insert, err := w.conn.PrepareBatch(ctx, "INSERT INTO feed_progress (item, dao_id, rules_version, revision)")
	if err != nil {
		return fmt.Errorf("note %d items: %w", len(items), err)
	}
	defer insert.Close()
	for _, item := range items {
		if err := insert.Append(string(item.Item[:]), item.DAOID, rulesVersion, item.Revision); err != nil {
			return fmt.Errorf("note %d items: %w", len(items), err)
		}
	}
	if err := insert.Send(); err != nil {
		return fmt.Errorf("note %d items: %w", len(items), err)
	}
	return nil
}
