package counts

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// LoggedChange is a row of the log of changes.
type LoggedChange struct {
	governance.Change
	// AtMs, in milliseconds since 1970, and Number are the place of the row: rows are in their order.
	AtMs   uint64 `ch:"at_ms"`
	Number uint64 `ch:"number"`
}

// Names of positions in the log of changes.
const (
	// LogPosition has Epoch and Restored, PublicationPosition all but VisibleThrough, and
	// FeedPosition Revision and VisibleThrough.
	LogPosition         = "log"
	PublicationPosition = "publication"
	FeedPosition        = "feed"
)

// ChangePosition says up to where the log of changes tells what was published.
type ChangePosition struct {
	// Epoch names the log: places of another one mean nothing.
	Epoch uint64
	// Restored is the restore of the warehouse with which the epoch began; empty for none.
	Restored string
	// Format names the formats and rules that answers were made with.
	Format string
	// CommittedThrough is the commit time, in microseconds, up to which all batches are told.
	CommittedThrough int64
	// VisibleThrough is the time up to which rows of the feed are told that became visible.
	VisibleThrough governance.Timestamp
	// Revision is the revision of the last publication, or of the last rows of the feed, that are told.
	Revision uint64
	// LaggingDAOs are the DAOs that kept previous numbers.
	LaggingDAOs []string `ch:"lagging_daos"`
}

// ChangeLog is the log of changes in a warehouse.
type ChangeLog struct{ w *warehouse.Warehouse }

// NewChangeLog returns the log of a warehouse.
func NewChangeLog(w *warehouse.Warehouse) ChangeLog { return ChangeLog{w} }

// Append adds rows to an epoch.
func (l ChangeLog) Append(ctx context.Context, epoch uint64, rows []LoggedChange) error {
	var values [][]any
	for _, c := range rows {
		// A mark of a beginning has no revision.
		revision, err := strconv.ParseUint(cmp.Or(string(c.Revision), "0"), 10, 64)
		if err != nil {
			return fmt.Errorf("write changes: %w", err)
		}
		values = append(values, []any{epoch, c.AtMs, c.Number, string(c.Kind), c.Key, c.DAOID, c.ChangedAt.Time(), revision})
	}
	return warehouse.InsertRows(ctx, l.w,
		"INSERT INTO changes (epoch, at_ms, number, kind, key, dao_id, changed_at, revision)", "write changes", values)
}

// Read calls yield with the rows of an epoch after a place, in their order.
func (l ChangeLog) Read(ctx context.Context, epoch, atMs, number uint64, yield func(LoggedChange) error) error {
	return warehouse.EachRow(ctx, l.w, "read changes", sqlText("change_log_since"), yield,
		clickhouse.Named("epoch", epoch), clickhouse.Named("at_ms", atMs), clickhouse.Named("number", number))
}

// Beginning returns the place after which an epoch has at most so many rows; zero if it has no more.
func (l ChangeLog) Beginning(ctx context.Context, epoch uint64, rows int) (atMs, number uint64, err error) {
	found, err := warehouse.FindOne[LoggedChange](ctx, l.w, "find the beginning of the changes",
		"SELECT at_ms, number FROM changes WHERE epoch = {epoch:UInt64} ORDER BY at_ms DESC, number DESC LIMIT 1 OFFSET {rows:UInt64}",
		clickhouse.Named("epoch", epoch), clickhouse.Named("rows", rows))
	return found.AtMs, found.Number, err
}

// Position returns a position; nil for none.
func (l ChangeLog) Position(ctx context.Context, name string) (*ChangePosition, error) {
	found, err := warehouse.Find[ChangePosition](ctx, l.w, "read the position of changes",
		"SELECT epoch, restored, format, committed_through, visible_through, revision, lagging_daos FROM change_positions FINAL WHERE name = {name:String}", clickhouse.Named("name", name))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// SetPosition replaces a position.
func (l ChangeLog) SetPosition(ctx context.Context, name string, p ChangePosition) error {
	return warehouse.InsertRows(ctx, l.w,
		"INSERT INTO change_positions (name, epoch, restored, format, committed_through, visible_through, revision, lagging_daos)",
		"write the position of changes", [][]any{{
			name, p.Epoch, p.Restored, p.Format, p.CommittedThrough, p.VisibleThrough.Time(),
			p.Revision, warehouse.NonNilTexts(p.LaggingDAOs),
		}})
}

// Turned returns the proposals whose vote began or ended in a time, its end included.
func (l ChangeLog) Turned(ctx context.Context, after, until time.Time) ([]record.RefHash, error) {
	return warehouse.Find[record.RefHash](ctx, l.w, "list proposals whose vote began or ended", sqlText("change_log_turned"),
		clickhouse.Named("after", after.UnixMilli()), clickhouse.Named("until", until.UnixMilli()))
}
