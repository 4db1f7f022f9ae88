package publish

import (
	"maps"
	"slices"
	"sync"

	"pnyx/warehouse/record"
)

// corrections are the proposals and DAOs whose published sums differed from a recount. They
// are published again, proposals flagged.
type corrections struct {
	mu               sync.Mutex
	pending, flagged map[record.RefHash]bool
	daos             map[string]bool
}

func newCorrections() *corrections {
	return &corrections{pending: map[record.RefHash]bool{}, flagged: map[record.RefHash]bool{}, daos: map[string]bool{}}
}

func (c *corrections) add(ref record.RefHash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending[ref], c.flagged[ref] = true, true
}

func (c *corrections) addDAO(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.daos[id] = true
}

// take returns the proposals and DAOs to publish again. Those of a publication that fails are
// published with everything else that the next term finds.
func (c *corrections) take() (refs []record.RefHash, daoIDs []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refs, daoIDs = slices.Collect(maps.Keys(c.pending)), slices.Collect(maps.Keys(c.daos))
	clear(c.pending)
	clear(c.daos)
	return refs, daoIDs
}

// arePending reports whether take would return any.
func (c *corrections) arePending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)+len(c.daos) > 0
}

func (c *corrections) isFlagged(ref record.RefHash) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flagged[ref]
}
