package follow

import (
	"context"
	"errors"
	"sync"

	"github.com/google/uuid"

	"pnyx/follow/clock"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	wsource "pnyx/warehouse/source"
)

// Journal writes what the lanes of one upstream find, and holds their cursors. It is safe
// for concurrent use.
type Journal struct {
	// Warehouse receives the records.
	Warehouse *warehouse.Warehouse
	// Clock is nil for the system's.
	Clock *clock.Clock

	upstream string
	mu       sync.Mutex
	cursors  map[cursorKey]warehouse.FollowCursor
}

type cursorKey struct {
	source record.SourceRef
	lane   string
}

// OpenJournal reads the cursors of an upstream.
func OpenJournal(ctx context.Context, w *warehouse.Warehouse, upstream string, c *clock.Clock) (*Journal, error) {
	stored, err := w.FollowCursors(ctx, upstream)
	if err != nil {
		return nil, err
	}
	j := &Journal{Warehouse: w, Clock: c, upstream: upstream, cursors: map[cursorKey]warehouse.FollowCursor{}}
	for _, cursor := range stored {
		j.cursors[cursorKey{cursor.Source(), cursor.Lane}] = cursor
	}
	return j, nil
}

// Cursor returns the cursor of a lane, for one source or, with an empty ID, for all sources
// of the upstream. It is empty before the first Commit.
func (j *Journal) Cursor(source record.SourceRef, lane string) warehouse.FollowCursor {
	j.mu.Lock()
	defer j.mu.Unlock()
	if cursor, known := j.cursors[cursorKey{source, lane}]; known {
		return cursor
	}
	return warehouse.FollowCursor{
		Upstream: j.upstream, Provider: source.Provider, SourceID: source.ID, Lane: lane, Covered: []warehouse.Interval{},
	}
}

// Commit writes records of any kinds as one batch, and when it is committed, moves cursors.
func (j *Journal) Commit(
	ctx context.Context, records []record.Record, cursors ...warehouse.FollowCursor,
) (warehouse.Counts, error) {
	run := warehouse.Import{ID: uuid.New(), ObservedAt: j.Clock.Now()}
	counts, err := j.Warehouse.Append(ctx, run, records)
	if err != nil {
		return counts, err
	}
	return counts, j.move(ctx, cursors)
}

// Reject keeps an item that is no valid record.
func (j *Journal) Reject(ctx context.Context, source record.SourceRef, itemID string, rejected error) error {
	reject := warehouse.FollowReject{
		Upstream: j.upstream, Provider: source.Provider, SourceID: source.ID, ItemID: itemID,
		Reason: rejected.Error(), At: j.Clock.Now(),
	}
	if line, ok := errors.AsType[*wsource.RejectedError](rejected); ok {
		reject.Text = line.Text
	}
	return j.Warehouse.WriteFollowRejects(ctx, []warehouse.FollowReject{reject})
}

func (j *Journal) move(ctx context.Context, cursors []warehouse.FollowCursor) error {
	if err := j.Warehouse.WriteFollowCursors(ctx, cursors); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, cursor := range cursors {
		j.cursors[cursorKey{cursor.Source(), cursor.Lane}] = cursor
	}
	return nil
}
