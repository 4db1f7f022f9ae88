package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNotLeader means that another process holds the lease.
var ErrNotLeader = errors.New("lease is held by another process")

// Lease is the right to publish, or to follow an upstream, which one process holds at a time. It expires unless it
// is renewed. It does not fence writes: a process that was paused may write for a moment after its lease has
// expired. Monotonic writes to Redis and fingerprints of records make that harmless.
type Lease struct {
	store  *Store
	key    Key
	holder string
	ttl    time.Duration
	// renewed is when the last successful Acquire began.
	renewed atomic.Pointer[time.Time]
}

// NewLease returns the lease of the publisher, not held yet. It lasts for ttl after each Acquire.
func (s *Store) NewLease(ttl time.Duration) *Lease {
	return &Lease{store: s, key: leaseKey, holder: rand.Text(), ttl: ttl}
}

// NewFollowLease returns the lease of an upstream, as NewLease does.
func (s *Store) NewFollowLease(upstream string, ttl time.Duration) *Lease {
	return &Lease{store: s, key: followLeaseKey(upstream), holder: rand.Text(), ttl: ttl}
}

// acquire takes the lease if it is free, or renews it if the caller holds it. KEYS: lease. ARGV: holder, TTL.
var acquire = redis.NewScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`)

// release deletes the lease if the caller holds it. KEYS: lease. ARGV: holder.
var release = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1`)

// Acquire takes the lease if it is free, or renews it. The error is ErrNotLeader or ErrUnavailable.
func (l *Lease) Acquire(ctx context.Context) error {
	began := time.Now()
	err := runScript(ctx, l, acquire, []string{string(l.key)}, l.ttl.Milliseconds())
	if err == nil {
		l.renewed.Store(&began)
	}
	return err
}

// IsCurrent reports whether the lease was renewed less than a TTL ago. It is false in a process that was paused
// for longer, even before Hold has noticed.
func (l *Lease) IsCurrent() bool {
	renewed := l.renewed.Load()
	return renewed != nil && time.Since(*renewed) < l.ttl
}

// Hold renews the lease until ctx ends or the lease is lost, and returns the cause. Three quarters of the TTL
// without a renewal count as lost: the work has ended before another process can acquire the lease.
func (l *Lease) Hold(ctx context.Context) error {
	renewed := time.Now()
	again := time.NewTicker(l.ttl / 4)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
		attempt, cancel := context.WithTimeout(ctx, l.ttl/4)
		err := l.Acquire(attempt)
		cancel()
		switch {
		case err == nil:
			renewed = time.Now()
		case errors.Is(err, ErrNotLeader), time.Since(renewed) > 3*l.ttl/4:
			return err
		}
	}
}

// Release gives up the lease unless another process holds it.
func (l *Lease) Release(ctx context.Context) error {
	err := runScript(ctx, l, release, []string{string(l.key)})
	if errors.Is(err, ErrNotLeader) {
		return nil
	}
	return err
}

// runScript runs a script whose first key is the lease and whose first argument its holder. The script returns 0
// when the caller does not hold the lease, and a negative number after a flush.
func runScript(ctx context.Context, l *Lease, script *redis.Script, keys []string, args ...any) error {
	reply, err := script.Run(ctx, Client(l.store.conn), keys, append([]any{l.holder}, args...)...).Int()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	switch {
	case reply == 0:
		return ErrNotLeader
	case reply < 0:
		return ErrFlushed
	}
	return nil
}
