package warehouse

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/governance"
)

// FollowedItem is what a follower remembers of one upstream item between polls.
type FollowedItem struct {
	// Upstream, Provider, SourceID and ItemID are the key.
	Upstream string
	Provider governance.Provider
	SourceID string
	ItemID   string
	// Note is JSON in the form of the provider.
	Note string
}

// FollowedItems returns the items of an upstream.
func (w *Warehouse) FollowedItems(ctx context.Context, upstream string) ([]FollowedItem, error) {
	rows, err := w.conn.Query(ctx, sqlText("follow_item"), upstream)
	type row struct {
		FollowedItem

		Version uint64
	}
	stored, err := selectRows[row](rows, err, "read followed items")
	items := make([]FollowedItem, len(stored))
	for i, r := range stored {
		items[i] = r.FollowedItem
		w.followVersion.seen(r.Version)
	}
	return items, err
}

// WriteFollowedItems writes items. A later one replaces an earlier one with the same key.
func (w *Warehouse) WriteFollowedItems(ctx context.Context, items []FollowedItem) error {
	return insertRows(ctx, w, "INSERT INTO followed_items (upstream, provider, source_id, item_id, note, version)", "write followed items",
		items, func(insert driver.Batch, item FollowedItem) error {
			return insert.Append(item.Upstream, string(item.Provider), item.SourceID, item.ItemID, item.Note,
				w.followVersion.next())
		})
}
