package api

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/api/apierror"
)

// joinedReads lets requests for an answer that the node has no copy of wait for one read
// of it: a thousand callers of one page would take all connections to Redis, and each
// would wait for the others. It is safe for concurrent use.
type joinedReads struct {
	joined prometheus.Counter

	mu      sync.Mutex
	pending map[readKey]*pendingRead
}

// readKey identifies a read: the canonical request, and how often the node's copies had
// been dropped when it began. A request that arrives after a publication does not join a
// read that began before it.
type readKey struct {
	name  string
	drops uint64
}

// pendingRead is a read in progress. Its answer and err are set once done is closed;
// neither is if the request that reads gave up.
type pendingRead struct {
	done   chan struct{}
	answer *rendered
	err    error
}

// join returns what read returns, which at most one request calls at a time for a key.
// A request waits until its own ctx ends; when the one that reads gives up or panics,
// another one reads.
func (j *joinedReads) join(ctx context.Context, key readKey, read func() (*rendered, error)) (*rendered, error) {
	for {
		j.mu.Lock()
		p, joined := j.pending[key]
		if !joined {
			p = &pendingRead{done: make(chan struct{})}
			j.pending[key] = p
		}
		j.mu.Unlock()
		if !joined {
			return j.lead(ctx, key, p, read)
		}
		j.joined.Inc()
		select {
		case <-ctx.Done():
			return nil, apierror.Unavailable(ctx.Err())
		case <-p.done:
		}
		if p.answer != nil || p.err != nil {
			return p.answer, p.err
		}
	}
}

// lead reads for all that wait. An error of a request that ran out of time is its own.
func (j *joinedReads) lead(ctx context.Context, key readKey, p *pendingRead, read func() (*rendered, error)) (*rendered, error) {
	defer func() {
		j.mu.Lock()
		delete(j.pending, key)
		j.mu.Unlock()
		close(p.done)
	}()
	answer, err := read()
	if err == nil || ctx.Err() == nil {
		p.answer, p.err = answer, err
	}
	return answer, err
}
