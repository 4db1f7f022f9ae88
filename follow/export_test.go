package follow

import (
	"context"
	"time"
)

func (f *Follower) Hasten(leaseTTL, standbyInterval time.Duration) {
	f.leaseTTL, f.standbyInterval = leaseTTL, standbyInterval
}

// Defer leaves the writing of cursors without records to Write, as a follower does.
func (j *Journal) Defer() { j.deferred = true }

// Write writes the cursors that have changed.
func (j *Journal) Write(ctx context.Context) error { return writePending(ctx, j.Warehouse, j) }

func (j *Journal) Succeed(poller Poller) { j.succeeded(poller) }

func (j *Journal) Rejected() uint64 { return j.rejects.counted }
