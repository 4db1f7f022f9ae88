package follow

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/google/uuid"

	"pnyx/clock"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// Journal writes what one upstream's pollers find, and holds their cursors. It is safe for concurrent use.
type Journal struct {
	Warehouse *warehouse.Warehouse
	// Clock is nil for the system's.
	Clock *clock.Clock

	upstream string
	// sources are those that are followed at the upstream.
	sources map[record.SourceRef]bool
	// rejects has the rejected items until they are written.
	rejects rejects
	// deferred leaves it to the follower to write cursors that move without records, a moment later. A crash before
	// that reads again what brought nothing.
	deferred bool
	// writing is held while cursors are written.
	writing sync.Mutex
	// mu protects cursors and what they point to.
	mu      sync.Mutex
	cursors map[cursorKey]*entry
}

// cursorKey names a cursor. A cursor that all sources of the upstream share has no source.
type cursorKey struct {
	source record.SourceRef
	poller string
}

func keyOf(source record.SourceRef, poller string) cursorKey {
	if source.ID == "" {
		source = record.SourceRef{}
	}
	return cursorKey{source, poller}
}

// OpenJournal reads the cursors of an upstream, at which some sources are followed.
func OpenJournal(
	ctx context.Context, w *warehouse.Warehouse, upstream string, sources []record.SourceRef, c *clock.Clock,
) (*Journal, error) {
	stored, err := records.FollowCursors(ctx, w, upstream)
	cursors, err := warehouse.Keyed(stored, err, func(c records.FollowCursor) (cursorKey, *entry) {
		return keyOf(c.Source(), c.Poller), newEntry(c)
	})
	if err != nil {
		return nil, err
	}
	j := &Journal{Warehouse: w, Clock: c, upstream: upstream, sources: map[record.SourceRef]bool{}, cursors: cursors}
	for _, source := range sources {
		j.sources[source] = true
	}
	if j.rejects.open, err = records.HasFollowRejects(ctx, w, upstream); err != nil {
		return nil, err
	}
	return j, nil
}

// Cursor returns the cursor of a poller, for one source or, with an empty ID, for all; empty before the first Commit.
func (j *Journal) Cursor(source record.SourceRef, poller string) records.FollowCursor {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.entry(source, poller).cursor
}

// At is Cursor, and reads its position. A position that does not decode is an empty one: the poller begins anew.
func (j *Journal) At(source record.SourceRef, poller string, position any) records.FollowCursor {
	cursor := j.Cursor(source, poller)
	if err := cursor.ReadPosition(position); err != nil {
		cursor.Position = ""
	}
	return cursor
}

// Note returns what is remembered of an item of a source, as it is stored: the JSON of note.
func (j *Journal) Note(source record.SourceRef, itemID string, note any) records.FollowedItem {
	text, _ := json.Marshal(note) //nolint:errchkjson // notes are numbers, texts and times
	return records.FollowedItem{Upstream: j.upstream, Provider: source.Provider, SourceID: source.ID, ItemID: itemID, Note: string(text)}
}

// entry returns the entry of a poller, a new one if there is none. The caller holds mu.
func (j *Journal) entry(source record.SourceRef, poller string) *entry {
	key := keyOf(source, poller)
	e, known := j.cursors[key]
	if !known {
		e = &entry{cursor: records.FollowCursor{
			Upstream: j.upstream, Provider: key.source.Provider, SourceID: key.source.ID, Poller: key.poller,
			Covered: []records.Interval{},
		}}
		j.cursors[key] = e
	}
	return e
}

// Commit writes records as one batch, and when it is committed, moves cursors. Records that the upstream may not
// state are rejected. Of a cursor, it takes what its poller sets: position, what is covered, state, counts, time
// at upstream, and of a poller that is behind the reason as its error. The follower sets the rest.
func (j *Journal) Commit(ctx context.Context, all []record.Record, cursors ...records.FollowCursor) error {
	_, err := j.CommitCounted(ctx, all, cursors...)
	return err
}

// CommitCounted is Commit, and says how many of the records were new or changed.
func (j *Journal) CommitCounted(
	ctx context.Context, all []record.Record, cursors ...records.FollowCursor,
) (records.Counts, error) {
	began := j.Clock.Now()
	held, err := records.HeldSources(ctx, j.Warehouse, proposalsOf(all))
	if err != nil {
		return records.Counts{}, err
	}
	all = j.admit(all, held)
	if err := j.writeRejects(ctx); err != nil {
		return records.Counts{}, err
	}
	run := records.Import{ID: uuid.New(), ObservedAt: j.Clock.Now()}
	counts, err := records.Append(ctx, j.Warehouse, run, all)
	if err == nil {
		err = j.resolveRejects(ctx, all, began)
	}
	if err != nil {
		return counts, err
	}
	return counts, j.move(ctx, cursors, j.deferred && len(all) == 0)
}

// Read returns the record of an item; nil for one that is no valid record, or not what was asked for, and is rejected.
func (j *Journal) Read(asked Asked, text []byte) record.Record {
	read, err := asked.Format.Parse(asked.Source.ID, text) // the id of a forum is its host
	if err == nil {
		err = asked.check(read)
	}
	if err != nil {
		j.reject(asked.Source, asked.ItemID, err, text)
		return nil
	}
	return read
}

// move takes over cursors, and writes them unless that can wait.
func (j *Journal) move(ctx context.Context, cursors []records.FollowCursor, wait bool) error {
	j.mu.Lock()
	moved, now := make([]*entry, len(cursors)), j.Clock.Now()
	for i, cursor := range cursors {
		moved[i] = j.entry(cursor.Source(), cursor.Poller)
		moved[i].move(cursor, now)
	}
	j.mu.Unlock()
	if wait {
		return nil
	}
	return writeEntries(ctx, j.Warehouse, map[*Journal][]*entry{j: moved})
}
