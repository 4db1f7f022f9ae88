package fetch

import (
	"sync"
	"time"
)

const (
	// maxFailures is the number of failed requests in a row, each with its retries, after which a host rests.
	maxFailures = 5
	// minRest and maxRest bound how long it rests: longer each time, but what is followed is live soon after the
	// host.
	minRest, maxRest = 5 * time.Second, 30 * time.Second
)

// breaker stops asking an address that fails, and then tries it with one request at a time. It goes by the clock
// of the client, which no published breaker can be given.
type breaker struct {
	mu       sync.Mutex
	failures int
	rest     time.Duration
	until    time.Time
	last     error
	trying   bool
}

// refuses returns the last failure and the time of the next attempt while the address rests. Otherwise the caller must
// end its request with fail, succeed or release.
func (b *breaker) refuses(now time.Time) (until time.Time, last error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < maxFailures {
		return time.Time{}, nil
	}
	if b.trying || now.Before(b.until) {
		return b.until, b.last
	}
	b.trying = true
	return time.Time{}, nil
}

// fail notes a failure. opened reports that the address rests from now on.
func (b *breaker) fail(now time.Time, err error) (until time.Time, opened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.last, b.trying = b.failures+1, err, false
	if b.failures < maxFailures {
		return time.Time{}, false
	}
	opened = b.failures == maxFailures
	b.rest = min(max(2*b.rest, minRest), maxRest)
	b.until = now.Add(b.rest)
	return b.until, opened
}

// succeed ends the rest.
func (b *breaker) succeed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.rest, b.last, b.trying = 0, 0, nil, false
}

// release notes a request that came to no end.
func (b *breaker) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
}
