package warehouse

import (
	"sync"
	"time"
)

// versionClock gives the versions of rows that followers write. They follow the time in
// microseconds, and are later than every version read or given before, also when the
// machine's clock is set back.
type versionClock struct {
	mu     sync.Mutex
	latest uint64
}

// Seen notes a version that was read.
func (c *versionClock) Seen(version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest = max(c.latest, version)
}

// Next gives a version.
func (c *versionClock) Next() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest = max(uint64(time.Now().UnixMicro()), c.latest+1)
	return c.latest
}
