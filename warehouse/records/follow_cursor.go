package records

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// Interval is a range of numbers, both ends included.
type Interval struct {
	First, Last uint64
}

// FollowCursor says how far one poller has read a source.
type FollowCursor struct {
	// Upstream, Provider, SourceID and Poller are the key. SourceID is empty in a cursor that
	// all sources of the upstream share.
	Upstream string
	Provider governance.Provider
	SourceID string
	Poller   string
	// Position is the cursor as JSON, in the form of the poller.
	Position string
	// Covered are the ranges that a backfill has read, ordered, none touching another.
	Covered []Interval
	// State is the poller's state, which is never stale.
	State governance.SourceState
	// Done and Total count what a backfill has read and will read; zero where unknown.
	Done, Total uint64
	// UpstreamAt is the time of the newest item read through; nil before the first.
	UpstreamAt *time.Time
	// SucceededAt, FailedAt and RetryAt are the last success, the last failure and the next
	// attempt after it.
	SucceededAt, FailedAt, RetryAt *time.Time
	// Failures counts the failures since the last success; Error is the last of them.
	Failures uint32
	Error    string
	// Gaps counts items that a second look found, Withdrawn those that upstream took back,
	// and Reorgs the reorganizations.
	Gaps, Withdrawn, Reorgs uint64
	// Lacks says in words what the source states and is not held; empty for nothing.
	Lacks string
}

// SetPosition sets the position to the JSON of at: numbers, texts and times.
func (c *FollowCursor) SetPosition(at any) {
	text, _ := json.Marshal(at)
	c.Position = string(text)
}

// ReadPosition decodes the position into at, which stays as it is where there is none yet.
func (c FollowCursor) ReadPosition(at any) error {
	if c.Position == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(c.Position), at); err != nil {
		return fmt.Errorf("read the position of poller %s of %s: %w", c.Poller, c.Upstream, err)
	}
	return nil
}

// Source returns the source of the cursor.
func (c FollowCursor) Source() record.SourceRef {
	return record.SourceRef{Provider: c.Provider, ID: c.SourceID}
}

// FollowCursors returns the cursors of an upstream, or of all with "".
func FollowCursors(ctx context.Context, w *warehouse.Warehouse, upstream string) ([]FollowCursor, error) {
	type row struct {
		FollowCursor
		Version                   uint64
		CoveredFirst, CoveredLast []uint64
	}
	rows, err := warehouse.Find[row](ctx, w, "read the cursors of followed sources", sqlText("follow_cursor"), upstream, upstream)
	return warehouse.Values(rows, func(r row) FollowCursor {
		r.Covered = make([]Interval, len(r.CoveredFirst))
		for k := range r.CoveredFirst {
			r.Covered[k] = Interval{r.CoveredFirst[k], r.CoveredLast[k]}
		}
		w.FollowVersion.Seen(r.Version)
		return r.FollowCursor
	}), err
}

// WriteFollowCursors writes cursors. A later one replaces an earlier one with the same key.
func WriteFollowCursors(ctx context.Context, w *warehouse.Warehouse, cursors []FollowCursor) error {
	return warehouse.InsertRows(ctx, w, sqlText("follow_cursor_insert"), "write the cursors of followed sources",
		warehouse.Values(cursors, func(c FollowCursor) []any {
			covered := make([][]any, len(c.Covered))
			for i, interval := range c.Covered {
				covered[i] = []any{interval.First, interval.Last}
			}
			return []any{
				c.Upstream, string(c.Provider), c.SourceID, c.Poller, c.Position, covered, string(c.State), c.Done, c.Total,
				c.UpstreamAt, c.SucceededAt, c.FailedAt, c.RetryAt, c.Failures, c.Error, c.Gaps, c.Withdrawn, c.Reorgs, c.Lacks,
				w.FollowVersion.Next(),
			}
		}))
}
