package warehouse

import (
	"sync/atomic"
	"time"
)

// versionClock gives the versions of rows that followers write. They follow the time in
// microseconds, and are later than every version read or given before, also when the
// machine's clock is set back.
type versionClock struct {
	latest atomic.Uint64
}

// Seen notes a version that was read.
func (c *versionClock) Seen(version uint64) {
	for {
		latest := c.latest.Load()
		if version <= latest || c.latest.CompareAndSwap(latest, version) {
			return
		}
	}
}

// Next gives a version.
func (c *versionClock) Next() uint64 {
	for {
		latest := c.latest.Load()
		version := max(uint64(time.Now().UnixMicro()), latest+1)
		if c.latest.CompareAndSwap(latest, version) {
			return version
		}
	}
}
