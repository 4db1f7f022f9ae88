package fill

import (
	"context"
	"slices"
	"sync"
	"time"

	"pnyx/governance/query"
)

// gatherTime bounds how long a set waits for the previous one of its kind, so that one slow
// page delays the others no longer.
const gatherTime = 50 * time.Millisecond

// turns bounds how many sets of each kind are in work, and gives the kinds precedence in
// turns.
type turns struct {
	kinds map[query.Kind]kindOfPage

	mu sync.Mutex
	// order has all kinds, the one that was taken last at the end.
	order []query.Kind
	// taken are the turns of each kind, in the order in which they were taken.
	taken map[query.Kind][]*turn
}

// turn is the right to build a set of a kind.
type turn struct {
	of   *turns
	kind query.Kind
	// previous is the turn of the kind that was taken last before this one; nil if none
	// was in work.
	previous *turn
	// ended is closed when the turn is released.
	ended chan struct{}
}

// open returns the kinds of which another set may be taken, the next first.
func (t *turns) open() []query.Kind {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.order), t.exhausted)
}

func (t *turns) exhausted(kind query.Kind) bool { return len(t.taken[kind]) >= t.kinds[kind].sets }

// take takes a turn of a kind; nil if none is left.
func (t *turns) take(kind query.Kind) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exhausted(kind) {
		return nil
	}
	taken := &turn{of: t, kind: kind, ended: make(chan struct{})}
	if held := t.taken[kind]; len(held) > 0 {
		taken.previous = held[len(held)-1]
	}
	t.taken[kind] = append(t.taken[kind], taken)
	i := slices.Index(t.order, kind)
	t.order = append(slices.Delete(t.order, i, i+1), kind)
	return taken
}

// gather waits until the previous set of the kind has ended, for gatherTime at most, and
// reports whether it waited: what is requested meanwhile belongs to this set. Two sets at a time
// cost twice the statements, and are done no sooner.
func (t *turn) gather(ctx context.Context) bool {
	if t.previous == nil || t.of.kinds[t.kind].setSize == 1 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, gatherTime)
	defer cancel()
	select {
	case <-t.previous.ended:
	case <-ctx.Done():
	}
	return true
}

// release returns the turn.
func (t *turn) release() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.taken[t.kind] = slices.DeleteFunc(t.of.taken[t.kind], func(other *turn) bool { return other == t })
	close(t.ended)
}
