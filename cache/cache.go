// Package cache keeps in Redis what a worker has worked out, for API nodes to
// read: views as msgpack with their revision, the DAO directory, and the state of
// publication. Every write is monotonic: an older revision never replaces a newer
// one, so that workers that overlap do no harm. Redis may be flushed at any time.
package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Errors of reading.
var (
	// ErrMiss is a key without a value, or with one that does not decode.
	ErrMiss = errors.New("not in the cache")
	// ErrCorrupt goes with the ErrMiss of a value that does not decode.
	ErrCorrupt = errors.New("value does not decode")
	// ErrUnavailable is a Redis that does not answer in time.
	ErrUnavailable = errors.New("cache is unavailable")
)

// Store is a connection pool to Redis. It is safe for concurrent use.
type Store struct {
	client  redis.UniversalClient
	timeout time.Duration
}

// Open connects to the Redis at a URL: a server (redis://, rediss://, unix://), the
// one that Sentinels name (redis+sentinel://) or a Cluster (redis+cluster://).
// Timeout bounds every conversation that answers a request. Open does not wait for
// the server; see Ping.
func Open(redisURL string, timeout time.Duration) (*Store, error) {
	client, err := NewClient(redisURL)
	if err != nil {
		return nil, err
	}
	return &Store{client: client, timeout: timeout}, nil
}

// Close ends the connections.
func (s *Store) Close() error {
	return s.client.Close()
}

// Ping asks Redis for a sign of life.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return readError(s.client.Ping(ctx).Err())
}

// readError sorts what can go wrong in reading into the two errors that callers
// tell apart.
func readError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, redis.Nil):
		return ErrMiss
	default:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
}
