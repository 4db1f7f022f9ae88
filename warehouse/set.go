package warehouse

import (
	"context"
	"slices"
	"sync"

	"pnyx/warehouse/record"
)

// Set lets several goroutines read with shared statements, because planning is most of what a small one costs.
// Reads of one shape, with a context of With, wait until every member waits or has left; then one statement
// answers them all, and its error is the error of all.
type Set struct {
	slots chan struct{}

	mu sync.Mutex
	// running is the number of members that neither wait for a statement nor have left.
	running int
	// waiting holds the reads to answer together, by shape.
	waiting map[string]interface{ run() }
}

// NewSet returns a set with so many members. Each must call Leave in the end.
func NewSet(members int) *Set {
	const setConcurrency = 2 // how many statements of one set run at a time
	return &Set{
		slots: make(chan struct{}, setConcurrency), running: members, waiting: map[string]interface{ run() }{},
	}
}

type setContextKey struct{}

// InSet reports whether a context is of a member of a set.
func InSet(ctx context.Context) bool {
	set, _ := ctx.Value(setContextKey{}).(*Set)
	return set != nil
}

// With returns a context for the reads of a member. A nil Set shares no reads.
func (s *Set) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, setContextKey{}, s)
}

// Leave ends a member: the others no longer wait for it.
func (s *Set) Leave() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause()
}

// pause takes a member out of those that run; the last starts what waits. The caller holds mu.
func (s *Set) pause() {
	s.running--
	if s.running > 0 {
		return
	}
	for _, reads := range s.waiting {
		go reads.run()
	}
	clear(s.waiting)
}

// resume is the reverse of pause, for several members.
func (s *Set) resume(members int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running += members
}

// sharedReads are reads of one shape that one call of read answers.
type sharedReads[Key, Value any] struct {
	set  *Set
	ctx  context.Context //nolint:containedctx // the first read's; all have one deadline
	w    *Warehouse
	read func(context.Context, *Warehouse, []Key) ([]Value, error)
	keys []Key
	// values are the results in the order of keys, once done is closed without err.
	values []Value
	err    error
	done   chan struct{}
}

func (r *sharedReads[Key, Value]) run() {
	r.set.slots <- struct{}{}
	r.values, r.err = r.read((*Set)(nil).With(r.ctx), r.w, r.keys)
	<-r.set.slots
	r.set.resume(len(r.keys))
	close(r.done)
}

// Share reads the value of a key, together with the other reads of this shape if ctx is of
// a set. read returns a value for each key; the shape must determine what read does.
func Share[Key, Value any](
	ctx context.Context, w *Warehouse, shape string, key Key, read func(context.Context, *Warehouse, []Key) ([]Value, error),
) (value Value, err error) {
	set, _ := ctx.Value(setContextKey{}).(*Set)
	if set == nil {
		values, err := read(ctx, w, []Key{key})
		if err != nil {
			return value, err
		}
		return values[0], nil
	}
	set.mu.Lock()
	reads, is := set.waiting[shape].(*sharedReads[Key, Value])
	if !is {
		reads = &sharedReads[Key, Value]{set: set, ctx: ctx, w: w, read: read, done: make(chan struct{})}
		set.waiting[shape] = reads
	}
	place := len(reads.keys)
	reads.keys = append(reads.keys, key)
	set.pause()
	set.mu.Unlock()
	<-reads.done
	if reads.err != nil {
		return value, reads.err
	}
	return reads.values[place], nil
}

// Alone runs a read that no statement of the set answers. The other members do not wait for
// it, and no more than setConcurrency run.
func Alone[Value any](ctx context.Context, read func(context.Context) (Value, error)) (Value, error) {
	set, _ := ctx.Value(setContextKey{}).(*Set)
	if set == nil {
		return read(ctx)
	}
	set.mu.Lock()
	set.pause()
	set.mu.Unlock()
	set.slots <- struct{}{}
	defer func() {
		<-set.slots
		set.resume(1)
	}()
	return read((*Set)(nil).With(ctx))
}

// Together is read for several lists of references: each gets the values of all.
func Together[Value any](
	read func(context.Context, *Warehouse, []record.RefHash) (map[record.RefHash]Value, error),
) func(context.Context, *Warehouse, [][]record.RefHash) ([]map[record.RefHash]Value, error) {
	return func(ctx context.Context, w *Warehouse, lists [][]record.RefHash) ([]map[record.RefHash]Value, error) {
		values, err := read(ctx, w, slices.Concat(lists...))
		return slices.Repeat([]map[record.RefHash]Value{values}, len(lists)), err
	}
}
