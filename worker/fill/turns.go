package fill

import (
	"slices"
	"sync"

	"pnyx/governance/query"
)

// turns bounds how many sets of each kind are in work, and gives the kinds precedence in
// turns.
type turns struct {
	kinds map[query.Kind]kindOfPage

	mu sync.Mutex
	// order has all kinds, the one that was taken last at the end.
	order []query.Kind
	taken map[query.Kind]int
}

// open returns the kinds of which another set may be taken, the next first.
func (t *turns) open() []query.Kind {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.order), t.exhausted)
}

func (t *turns) exhausted(kind query.Kind) bool { return t.taken[kind] >= t.kinds[kind].sets }

// take takes a turn of a kind and reports whether there was one left.
func (t *turns) take(kind query.Kind) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exhausted(kind) {
		return false
	}
	t.taken[kind]++
	i := slices.Index(t.order, kind)
	t.order = append(slices.Delete(t.order, i, i+1), kind)
	return true
}

// release returns a turn.
func (t *turns) release(kind query.Kind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken[kind]--
}
