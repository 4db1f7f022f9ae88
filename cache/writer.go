package cache

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// flushEvery is how many writes go to Redis in one conversation: enough to hide
// the round trip, few enough to bound what waits in memory.
const flushEvery = 256

// Writer writes the values of one publication in bulk. It is for one goroutine;
// Flush ends it.
type Writer struct {
	store    *Store
	revision uint64
	pipe     redis.Pipeliner
	written  int
	changed  changes
}

// NewWriter starts the writes of a publication.
func (s *Store) NewWriter(revision uint64) *Writer {
	return &Writer{store: s, revision: revision, pipe: s.client.Pipeline()}
}

// Written is how many values were handed to the writer.
func (w *Writer) Written() int {
	return w.written
}

// Changed returns the tags of all answers that what was written, or removed, since it
// was last called outdates; EverythingTag alone where there are too many to name.
func (w *Writer) Changed() []Tag {
	tags := w.changed.list()
	w.changed = nil
	return tags
}

// SetView writes a view at the publication's revision, unless a newer one is
// there.
func (w *Writer) SetView(ctx context.Context, key Key, v View) error {
	v.Revision = w.revision
	value, err := v.encode()
	if err != nil {
		return err
	}
	w.changed.add(key.tag())
	return w.run(ctx, setNewer, []string{string(key)}, w.revision, value)
}

// SetPage writes the view of a page at the publication's revision, unless a newer
// one is there.
func (w *Writer) SetPage(ctx context.Context, r PageRequest, v View) error {
	v.Revision = w.revision
	value, err := v.encode()
	if err != nil {
		return err
	}
	return w.run(ctx, setPage, []string{string(r.Key())}, w.revision, value, pageTTL.Milliseconds())
}

// RemoveView removes a view, unless a newer one is there.
func (w *Writer) RemoveView(ctx context.Context, key Key) error {
	w.changed.add(key.tag())
	return w.remove(ctx, key)
}

// remove leaves the revision alone in place of a value, for a while: a write of an
// earlier one that comes late finds it, and stays away.
func (w *Writer) remove(ctx context.Context, key Key) error {
	return w.run(ctx, setPage, []string{string(key)}, w.revision, revisionText(w.revision), tombstoneTTL.Milliseconds())
}

// run queues a script. Scripts go by their text: a server that was restarted in
// between does not know their hash, and a pipeline cannot fall back.
func (w *Writer) run(ctx context.Context, script *redis.Script, keys []string, args ...any) error {
	script.Eval(ctx, w.pipe, keys, args...)
	w.written++
	if w.pipe.Len() < flushEvery {
		return nil
	}
	return w.Flush(ctx)
}

// Flush sends what is queued and reports the first write that went wrong.
func (w *Writer) Flush(ctx context.Context) error {
	queued := w.pipe.Len()
	if queued == 0 {
		return nil
	}
	if _, err := w.pipe.Exec(ctx); err != nil {
		return fmt.Errorf("%w: write %d values: %w", ErrUnavailable, queued, err)
	}
	return nil
}
