// Package joined has requests for one answer share one read of it. It knows nothing of HTTP but the
// error of a caller whose time is up.
package joined

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/api/apierror"
)

// Reads lets requests for an answer that the node has no copy of wait for one read
// of it: a thousand callers of one page would take all connections to Redis, and each
// would wait for the others. It is safe for concurrent use.
type Reads[Answer any] struct {
	joined prometheus.Counter

	mu      sync.Mutex
	pending map[Key]*pendingRead[Answer]
}

// Key identifies a read: the canonical request, and how often the node's copies had
// been dropped when it began. A request that arrives after a publication does not join a
// read that began before it.
type Key struct {
	Name  string
	Drops uint64
}

// pendingRead is a read in progress. Once done is closed, answer and err are set if finished is: the
// request that read has not given up.
type pendingRead[Answer any] struct {
	done     chan struct{}
	finished bool
	answer   Answer
	err      error
}

// NewReads returns reads that none has begun; joined counts the requests that wait for another's.
func NewReads[Answer any](joined prometheus.Counter) *Reads[Answer] {
	return &Reads[Answer]{joined: joined, pending: map[Key]*pendingRead[Answer]{}}
}

// Join returns what read returns, which at most one request calls at a time for a key.
// A request waits until its own ctx ends; when the one that reads gives up or panics,
// another one reads.
func (j *Reads[Answer]) Join(ctx context.Context, key Key, read func() (Answer, error)) (answer Answer, err error) {
	for {
		j.mu.Lock()
		p, joined := j.pending[key]
		if !joined {
			p = &pendingRead[Answer]{done: make(chan struct{})}
			j.pending[key] = p
		}
		j.mu.Unlock()
		if !joined {
			return j.lead(ctx, key, p, read)
		}
		j.joined.Inc()
		select {
		case <-ctx.Done():
			return answer, apierror.Unavailable(ctx.Err())
		case <-p.done:
		}
		if p.finished {
			return p.answer, p.err
		}
	}
}

// lead reads for all that wait. An error of a request that ran out of time is its own.
func (j *Reads[Answer]) lead(ctx context.Context, key Key, p *pendingRead[Answer], read func() (Answer, error)) (Answer, error) {
	defer func() {
		j.mu.Lock()
		delete(j.pending, key)
		j.mu.Unlock()
		close(p.done)
	}()
	answer, err := read()
	if err == nil || ctx.Err() == nil {
		p.answer, p.err, p.finished = answer, err, true
	}
	return answer, err
}
