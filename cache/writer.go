package cache

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"pnyx/governance"
)

// flushSize is how many writes are sent in one round trip: enough to hide its latency, few enough to hold.
const flushSize = 256

// Writer writes the values of one publication in bulk. It is for one goroutine. Writes are complete only after
// Flush, which returns the first error: nothing is written after one.
type Writer struct {
	store    *Store
	revision uint64
	// batch is a redis.Pipeliner with the queued writes: see Conn.
	batch any
	// sent has the result of the writes that are being sent; nil for none.
	sent    chan error
	err     error
	written int
	changed tagSet
	// rows of the stream of changes wait for TakeChanges.
	rows map[governance.Change]struct{}
}

// NewWriter returns a writer of the publication with a revision.
func (s *Store) NewWriter(revision uint64) *Writer {
	return &Writer{
		store: s, revision: revision, batch: Client(s.conn).Pipeline(), changed: tagSet{}, rows: map[governance.Change]struct{}{},
	}
}

// Written returns how many values were passed to the writer.
func (w *Writer) Written() int { return w.written }

// Changed returns the tags of all responses invalidated since the last call; EverythingTag if they are too many.
func (w *Writer) Changed() []Tag {
	tags := slices.Sorted(maps.Keys(w.changed))
	clear(w.changed)
	return tags
}

// AddChange notes that the values of a key were passed to the writer, for TakeChanges.
func (w *Writer) AddChange(kind governance.ChangeKind, key, daoID string, at governance.Timestamp) {
	change := governance.Change{
		Kind: kind, Key: key, DAOID: daoID, ChangedAt: at, Revision: governance.CountOf(w.revision),
	}
	w.rows[change] = struct{}{}
}

// TakeChanges flushes, and returns the keys of AddChange, once each: their values are written.
func (w *Writer) TakeChanges(ctx context.Context) ([]governance.Change, error) {
	if err := w.Flush(ctx); err != nil {
		return nil, err
	}
	rows := slices.SortedFunc(maps.Keys(w.rows), func(a, b governance.Change) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key), cmp.Compare(a.DAOID, b.DAOID))
	})
	clear(w.rows)
	return rows, nil
}

// Join flushes another writer of the publication, and takes over what it has written.
func (w *Writer) Join(ctx context.Context, other *Writer) error {
	if err := other.Flush(ctx); err != nil {
		return err
	}
	w.written += other.written
	for tag := range other.changed {
		w.changed.add(tag)
	}
	maps.Copy(w.rows, other.rows)
	return nil
}

// SetView writes a view at the writer's revision, unless a newer one is stored.
func (w *Writer) SetView(ctx context.Context, key Key, v View) {
	w.changed.add(key.tag())
	queue(ctx, w, setNewer, []string{string(key)}, w.revision, w.encode(v))
}

func (w *Writer) encode(v View) []byte {
	v.Revision = w.revision
	return v.encode()
}

// SetPayload writes a view with a payload and the head of other views, as SetView does.
func (w *Writer) SetPayload(ctx context.Context, key Key, head View, payload any) {
	v, err := NewView(head, payload)
	w.err = cmp.Or(w.err, err)
	w.SetView(ctx, key, v)
}

// SetWithheld writes a view as Withheld makes it.
func (w *Writer) SetWithheld(ctx context.Context, key Key, head View) {
	w.SetPayload(ctx, key, head, withheld)
}

// RemoveView removes a view, unless a newer one is stored.
func (w *Writer) RemoveView(ctx context.Context, key Key) {
	w.changed.add(key.tag())
	w.remove(ctx, key)
}

// remove replaces a value by a tombstone, so that a late write of an earlier revision does not bring it back.
func (w *Writer) remove(ctx context.Context, key Key) {
	queue(ctx, w, setNewerTTL, []string{string(key)}, w.revision, EncodeRevision(w.revision), tombstoneTTL.Milliseconds())
}

func queueOf(w *Writer) redis.Pipeliner {
	return w.batch.(redis.Pipeliner) //nolint:errcheck,forcetypeassert // NewWriter has set it
}

// queue queues a script by its text: a pipeline cannot fall back to it when a server does not know the hash.
func queue(ctx context.Context, w *Writer, script *redis.Script, keys []string, args ...any) {
	if w.err != nil {
		return
	}
	pipe := queueOf(w)
	script.Eval(ctx, pipe, keys, args...)
	if w.written++; pipe.Len() >= flushSize {
		w.send(ctx)
	}
}

// send sends the queued writes, after those before, while the next are queued.
func (w *Writer) send(ctx context.Context) {
	if w.await(); w.err != nil {
		return
	}
	pipe, sent := queueOf(w), make(chan error, 1)
	w.batch, w.sent = Client(w.store.conn).Pipeline(), sent
	go func() {
		queued := pipe.Len()
		_, err := pipe.Exec(ctx)
		if err != nil {
			err = fmt.Errorf("%w: write %d values: %w", ErrUnavailable, queued, err)
		}
		sent <- err
	}()
}

func (w *Writer) await() {
	if w.sent != nil {
		w.err = cmp.Or(w.err, <-w.sent)
		w.sent = nil
	}
}

// Flush sends the queued writes and returns the first error.
func (w *Writer) Flush(ctx context.Context) error {
	if queueOf(w).Len() > 0 {
		w.send(ctx)
	}
	w.await()
	return w.err
}
