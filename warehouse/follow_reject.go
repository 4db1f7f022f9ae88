package warehouse

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/governance"
)

// FollowReject is an item of a followed source that is no valid record.
type FollowReject struct {
	// Upstream, Provider, SourceID and ItemID are the key.
	Upstream string
	Provider governance.Provider
	SourceID string
	ItemID   string
	// Reason says which field is invalid, and what is valid.
	Reason string
	// Text is the item, truncated to 4 KiB.
	Text string
	// At is when it was read.
	At time.Time
}

// WriteFollowRejects keeps rejected items for 90 days. A later one replaces an earlier one
// with the same key.
func (w *Warehouse) WriteFollowRejects(ctx context.Context, rejects []FollowReject) error {
	return insertRows(ctx, w, "INSERT INTO follow_rejects (upstream, provider, source_id, item_id, reason, text, at)", "write rejected items",
		rejects, func(insert driver.Batch, r FollowReject) error {
			return insert.Append(r.Upstream, string(r.Provider), r.SourceID, r.ItemID, r.Reason, r.Text, r.At)
		})
}
