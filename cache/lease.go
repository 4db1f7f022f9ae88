package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNotLeader means that another worker holds the lease.
var ErrNotLeader = errors.New("lease is held by another worker")

// Lease is the right to publish, which one worker holds at a time. It expires unless it
// is renewed. It does not fence writes: a worker that was paused may write for a moment
// after its lease has expired, which monotonic writes make harmless.
type Lease struct {
	store  *Store
	holder string
	ttl    time.Duration
}

// NewLease returns a lease that is not held yet and lasts for ttl after each Acquire.
func (s *Store) NewLease(ttl time.Duration) *Lease {
	return &Lease{store: s, holder: rand.Text(), ttl: ttl}
}

// renew renews the lease if the caller holds it.
//
// KEYS: lease. ARGV: holder, TTL.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var renew = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`)

// release deletes the lease if the caller holds it.
//
// KEYS: lease. ARGV: holder.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var release = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1`)

// Acquire takes the lease if nobody holds it, or renews it. The error is ErrNotLeader
// while another worker holds it, or ErrUnavailable.
func (l *Lease) Acquire(ctx context.Context) error {
	err := l.run(ctx, renew, []string{string(leaseKey)}, l.ttl.Milliseconds())
	if !errors.Is(err, ErrNotLeader) {
		return err
	}
	taken, err := l.store.conn.Client.SetNX(ctx, string(leaseKey), l.holder, l.ttl).Result()
	if err != nil {
		return fmt.Errorf("%w: acquire the lease: %w", ErrUnavailable, err)
	}
	if !taken {
		return ErrNotLeader
	}
	return nil
}

// Release gives up the lease, so that another worker need not wait until it expires. It
// does nothing for a lease that another worker holds.
func (l *Lease) Release(ctx context.Context) error {
	err := l.run(ctx, release, []string{string(leaseKey)})
	if errors.Is(err, ErrNotLeader) {
		return nil
	}
	return err
}

// run runs a script whose first key is the lease and whose first argument its holder.
// The script returns 0 when the caller does not hold the lease, and a negative number
// after a flush.
func (l *Lease) run(ctx context.Context, script *redis.Script, keys []string, args ...any) error {
	reply, err := script.Run(ctx, l.store.conn.Client, keys, append([]any{l.holder}, args...)...).Int()
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
