package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNotLeader is what a worker learns whose lease has passed to another.
var ErrNotLeader = errors.New("the worker's lease is not ours")

// Lease is the right to publish, which one worker has at a time. It ends by
// itself when it is not renewed. It is no fence: a worker that was paused may go
// on writing for a moment, which monotonic writes make harmless.
type Lease struct {
	store  *Store
	holder string
	ttl    time.Duration
}

// NewLease returns a lease that is not held yet.
func (s *Store) NewLease(ttl time.Duration) *Lease {
	return &Lease{store: s, holder: rand.Text(), ttl: ttl}
}

// renew prolongs the lease if it is the caller's.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var renew = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`)

// release ends the lease if it is the caller's.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var release = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1`)

// Acquire takes the lease if nobody has it, or prolongs it. It fails with
// ErrNotLeader when another has it.
func (l *Lease) Acquire(ctx context.Context) error {
	err := l.guarded(ctx, renew, []string{string(leaseKey)}, l.ttl.Milliseconds())
	if !errors.Is(err, ErrNotLeader) {
		return err
	}
	taken, err := l.store.client.SetNX(ctx, string(leaseKey), l.holder, l.ttl).Result()
	if err != nil {
		return fmt.Errorf("%w: acquire the lease: %w", ErrUnavailable, err)
	}
	if !taken {
		return ErrNotLeader
	}
	return nil
}

// Release gives the lease up, so that another worker need not wait for its end.
func (l *Lease) Release(ctx context.Context) error {
	err := l.guarded(ctx, release, []string{string(leaseKey)})
	if errors.Is(err, ErrNotLeader) {
		return nil
	}
	return err
}

// guarded runs a script that begins by checking the holder.
func (l *Lease) guarded(ctx context.Context, script *redis.Script, keys []string, args ...any) error {
	done, err := script.Run(ctx, l.store.client, keys, append([]any{l.holder}, args...)...).Int()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	switch {
	case done == 0:
		return ErrNotLeader
	case done < 0:
		return ErrFlushed
	}
	return nil
}
