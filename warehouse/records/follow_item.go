package records

import (
	"context"

	"pnyx/governance"
	"pnyx/warehouse"
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
func FollowedItems(ctx context.Context, w *warehouse.Warehouse, upstream string) ([]FollowedItem, error) {
	type row struct {
		FollowedItem
		Version uint64
	}
	stored, err := warehouse.Find[row](ctx, w, "read followed items", sqlText("follow_item"), upstream)
	return warehouse.Values(stored, func(r row) FollowedItem {
		w.FollowVersion.Seen(r.Version)
		return r.FollowedItem
	}), err
}

// WriteFollowedItems writes items. A later one replaces an earlier one with the same key.
func WriteFollowedItems(ctx context.Context, w *warehouse.Warehouse, items []FollowedItem) error {
	return warehouse.InsertRows(ctx, w, "INSERT INTO followed_items (upstream, provider, source_id, item_id, note, version)", "write followed items",
		warehouse.Values(items, func(item FollowedItem) []any {
			return []any{item.Upstream, string(item.Provider), item.SourceID, item.ItemID, item.Note, w.FollowVersion.Next()}
		}))
}
