// Package cache stores in Redis what a worker computes and API nodes read: views,
// pages, the DAO index, the versions of pages and the state of publication.
//
// A worker that holds the [Lease] writes with a [Writer]. Every write is monotonic: a
// script never lets an older revision replace a newer one, so workers that overlap for
// a moment do no harm. API nodes read with [Store.View], [Store.Page] and
// [Store.DAOPage], and request pages that are not stored with [Fills.Enqueue].
// Everything here can be rebuilt from the warehouse: Redis may be flushed at any time.
// What cannot be rebuilt that easily is in package accounts.
package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrMiss means that a key has no value, or one that does not decode.
	ErrMiss = errors.New("not in the cache")
	// ErrCorrupt accompanies ErrMiss for a value that does not decode, or is lost.
	ErrCorrupt = errors.New("value does not decode")
	// ErrUnavailable means that Redis returned an error or did not answer in time.
	ErrUnavailable = errors.New("cache is unavailable")
)

// Conn is the connection of a Store, for packages that store something else in the same Redis.
type Conn struct {
	// client is a redis.UniversalClient. No type of this package, or of one that uses it, is made
	// of types of the Redis client: the compiler would read its hundreds of methods in every
	// package that imports such a type.
	client any
	// Timeout bounds an operation that a request waits for.
	Timeout time.Duration
}

// WithTimeout returns a context that ends after Timeout.
func (c Conn) WithTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.Timeout)
}

// Client returns what sends the commands of a connection.
func Client(c Conn) redis.UniversalClient {
	return c.client.(redis.UniversalClient) //nolint:errcheck,forcetypeassert // Open has set it
}

// Get reads a value within the timeout of a connection.
func Get(ctx context.Context, c Conn, key Key) *redis.StringCmd {
	ctx, cancel := c.WithTimeout(ctx)
	defer cancel()
	return Client(c).Get(ctx, string(key))
}

// Run runs a script within the timeout of a connection.
func Run(ctx context.Context, c Conn, script *redis.Script, keys []string, args ...any) *redis.Cmd {
	ctx, cancel := c.WithTimeout(ctx)
	defer cancel()
	return script.Run(ctx, Client(c), keys, args...)
}

// Pipelined sends what queue queues, within the timeout of a connection and in one round trip where Redis is one
// server. It returns the first error; each command has its own.
func Pipelined(ctx context.Context, c Conn, queue func(redis.Pipeliner)) error {
	ctx, cancel := c.WithTimeout(ctx)
	defer cancel()
	pipe := Client(c).Pipeline()
	queue(pipe)
	_, err := pipe.Exec(ctx)
	return err
}

// Store reads and writes Redis through a connection pool. It is safe for concurrent use.
type Store struct {
	conn Conn
}

// Open connects to the Redis at a URL: one server (redis://, rediss://, unix://), the primary that Sentinels name
// (redis+sentinel://) or a Cluster (redis+cluster://). timeout bounds each operation that a request waits for.
// Open does not wait for the server; see Ping.
func Open(redisURL string, timeout time.Duration) (*Store, error) {
	client, err := NewClient(redisURL)
	if err != nil {
		return nil, err
	}
	return &Store{conn: Conn{client: client, Timeout: timeout}}, nil
}

// Conn returns the connection. It must not be used after Close.
func (s *Store) Conn() Conn { return s.conn }

// Close closes the connections.
func (s *Store) Close() error { return Client(s.conn).Close() }

// Ping checks that Redis answers. The error is ErrUnavailable.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	return WrapError(Client(s.conn).Ping(ctx).Err())
}

// WrapError maps nil to nil, a missing key to ErrMiss, and any other error of the client to ErrUnavailable.
func WrapError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, redis.Nil):
		return ErrMiss
	default:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
}

// readError is WrapError for what a publisher writes: a value of another type does not decode.
func readError(err error) error {
	if err != nil && strings.Contains(err.Error(), "WRONGTYPE") { // of a script, the Redis inside a process has it within
		return fmt.Errorf("%w: %w: %w", ErrMiss, ErrCorrupt, err)
	}
	return WrapError(err)
}
