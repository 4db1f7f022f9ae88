package records

import (
	"context"
	"time"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// FollowReject is an item of a followed source that is no valid record.
type FollowReject struct {
	// Upstream, Provider, SourceID and ItemID are the key.
	Upstream string
	Provider governance.Provider
	SourceID string
	ItemID   string
	// Reason says which field is invalid, and what is valid; 1 KiB of it is kept. It is empty
	// for an item that was read as a record since.
	Reason string
	// Text is the item; 4 KiB of it are kept.
	Text string
	At   time.Time
}

const (
	// maxRejectTexts bounds the items of one source that are kept with texts, maxRejects those kept at all.
	maxRejectTexts, maxRejects = 1_000, 100_000
	// MaxRejectID, MaxRejectReason and MaxRejectText are what is kept of one item, in bytes.
	MaxRejectID, MaxRejectReason, MaxRejectText = 256, 1 << 10, 4 << 10
)

// WriteFollowRejects keeps rejected items for 90 days. A later one replaces an earlier one
// with the same key. Of a source that has rejected many it keeps the keys, as a count, and of
// one that has rejected very many no more: its authors must not fill the warehouse.
func WriteFollowRejects(ctx context.Context, w *warehouse.Warehouse, rejects []FollowReject) error {
	type origin struct {
		upstream string
		source   record.SourceRef
	}
	held := map[origin]uint64{}
	kept := make([]FollowReject, 0, len(rejects))
	for _, r := range rejects {
		of := origin{r.Upstream, record.SourceRef{Provider: r.Provider, ID: r.SourceID}}
		if _, counted := held[of]; !counted {
			const sql = "SELECT uniq(item_id) FROM follow_rejects WHERE upstream = ? AND provider = ? AND source_id = ?"
			stored, err := warehouse.FindValue[uint64](ctx, w, "count rejected items", sql, r.Upstream, string(r.Provider), r.SourceID)
			if err != nil {
				return err
			}
			held[of] = stored
		}
		if held[of] >= maxRejects {
			continue
		}
		r.ItemID, r.Reason = record.Clip(r.ItemID, MaxRejectID), record.Clip(r.Reason, MaxRejectReason)
		if r.Text = record.Clip(r.Text, MaxRejectText); held[of] >= maxRejectTexts {
			r.Text = ""
		}
		held[of]++
		kept = append(kept, r)
	}
	return insertFollowRejects(ctx, w, kept)
}

func insertFollowRejects(ctx context.Context, w *warehouse.Warehouse, rejects []FollowReject) error {
	return warehouse.InsertRows(ctx, w, "INSERT INTO follow_rejects (upstream, provider, source_id, item_id, reason, text, at)", "write rejected items",
		warehouse.Values(rejects, func(r FollowReject) []any {
			return []any{r.Upstream, string(r.Provider), r.SourceID, r.ItemID, r.Reason, r.Text, r.At}
		}))
}

// ResolveFollowRejects marks the rejected items of an upstream that were read as records at a
// time, and returns how many. Of the items, ItemID is set, and SourceID where it is known.
func ResolveFollowRejects(ctx context.Context, w *warehouse.Warehouse, upstream string, items []FollowReject, at time.Time) (int, error) {
	read := warehouse.ExternalTable("read_items", items,
		func(r FollowReject) []any { return []any{r.SourceID, record.Clip(r.ItemID, MaxRejectID)} }, warehouse.TextColumn("source_id"), warehouse.TextColumn("item_id"))
	resolved, err := warehouse.Find[FollowReject](ctx, w, "read rejected items", sqlText("follow_reject_open"), read,
		upstream, at.UnixMilli())
	if err != nil || len(resolved) == 0 {
		return 0, err
	}
	for i := range resolved {
		resolved[i].Upstream, resolved[i].At = upstream, at
	}
	return len(resolved), insertFollowRejects(ctx, w, resolved)
}

// HasFollowRejects reports whether an upstream has rejected items that were not read since.
func HasFollowRejects(ctx context.Context, w *warehouse.Warehouse, upstream string) (bool, error) {
	const sql = "SELECT count() > 0 FROM follow_rejects FINAL WHERE upstream = ? AND reason != ''"
	return warehouse.FindValue[bool](ctx, w, "look for rejected items", sql, upstream)
}
