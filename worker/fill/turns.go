package fill

import (
	"context"
	"maps"
	"slices"
	"sync"

	"pnyx/governance/query"
)

// turns bounds how many sets of each kind are in work, and gives the kinds precedence in turns. Of idle workers,
// one waits for requests of all kinds: each that waits costs round trips to Redis.
type turns struct {
	kinds map[query.Kind]kindOfPage

	mu sync.Mutex
	// changed is signalled when a turn or a wait has ended.
	changed sync.Cond
	// endWait ends the wait of the worker that waits for requests, of awaited kinds; nil if none waits.
	endWait func()
	awaited int
	// order has all kinds, the one that was taken last at the end.
	order []query.Kind
	// taken are the turns of each kind, in the order in which they were taken.
	taken map[query.Kind][]*turn
}

// turn is the right to build a set of a kind.
type turn struct {
	of   *turns
	kind query.Kind
	// previous is the turn of the kind that was taken before this one; nil if none was in work.
	previous *turn
	// read is closed when the set has read what it needs.
	read chan struct{}
	// endReading closes read, once.
	endReading func()
}

func newTurns(kinds map[query.Kind]kindOfPage) *turns {
	t := &turns{kinds: kinds, order: slices.Sorted(maps.Keys(kinds)), taken: map[query.Kind][]*turn{}}
	t.changed.L = &t.mu
	return t
}

// await returns the open kinds as soon as no other worker waits, and what ends the wait for them, any number of
// times; before that, a turn of the kind is to be taken. endWait is called when another kind opens and a worker is
// there to wait. It returns no kinds when ctx ends.
func (t *turns) await(ctx context.Context, endWait func()) (kinds []query.Kind, end func()) {
	defer context.AfterFunc(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.changed.Broadcast()
	})()
	t.mu.Lock()
	defer t.mu.Unlock()
	for ctx.Err() == nil {
		kinds := t.open()
		switch {
		case t.endWait == nil && len(kinds) > 0:
			t.endWait, t.awaited = endWait, len(kinds)
			return kinds, sync.OnceFunc(func() {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.endWait = nil
				t.changed.Broadcast()
			})
		case t.endWait != nil && len(kinds) > t.awaited:
			t.endWait()
		}
		t.changed.Wait()
	}
	return nil, func() {}
}

func (t *turns) open() []query.Kind {
	return slices.DeleteFunc(slices.Clone(t.order), func(kind query.Kind) bool { return len(t.taken[kind]) >= t.kinds[kind].sets })
}

func (t *turns) take(kind query.Kind) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := &turn{of: t, kind: kind, read: make(chan struct{})}
	taken.endReading = sync.OnceFunc(func() { close(taken.read) })
	if held := t.taken[kind]; len(held) > 0 {
		taken.previous = held[len(held)-1]
	}
	t.taken[kind] = append(t.taken[kind], taken)
	i := slices.Index(t.order, kind)
	t.order = append(slices.Delete(t.order, i, i+1), kind)
	return taken
}

func (t *turn) waits() bool { return t.previous != nil && t.of.kinds[t.kind].setSize > 1 }

// gather waits until the set before has read, as long as its kind says at most, and reports whether it did: what is
// requested meanwhile belongs to this set. Two that read at a time cost twice the statements, and are done no
// sooner.
func (t *turn) gather(ctx context.Context) bool {
	if !t.waits() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, t.of.kinds[t.kind].gather)
	defer cancel()
	select {
	case <-t.previous.read:
	case <-ctx.Done():
	}
	return true
}

func (t *turn) release() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.taken[t.kind] = slices.DeleteFunc(t.of.taken[t.kind], func(other *turn) bool { return other == t })
	t.of.changed.Broadcast()
	t.endReading()
}
