package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
)

// A page that is not stored is filled on demand: an API node enqueues a request, a
// worker answers it with a view, and every node that waits for the view reads it. A
// request that is queued or in work is marked as pending, so that one worker fills a
// page however many nodes request it. The mark expires: when a worker dies, waiting
// nodes enqueue the request again.

// Errors of fills.
var (
	// ErrQueueFull means that the queue holds MaxQueuedFills requests.
	ErrQueueFull = errors.New("the queue of fills is full")
	// ErrNoFill means that no request arrived while a worker waited.
	ErrNoFill = errors.New("no fill is queued")
)

const (
	// MaxQueuedFills bounds the queue. With four fills at a time, 20 ms each, a full
	// queue takes two and a half seconds; callers wait no longer than that.
	MaxQueuedFills = 500
	// pendingTTL is how long a request stays pending without a heartbeat of its worker.
	pendingTTL = 2 * time.Second
	// pageTTL is how long a page is kept.
	pageTTL = 10 * time.Minute
	// absentTTL is how long a page says that its subject does not exist.
	absentTTL = 3 * time.Second
)

// Fill is a request for a page.
type Fill struct {
	// Page is the page to fill.
	Page PageRequest `msgpack:"p"`
	// Deadline is when nobody waits for the page any more.
	Deadline governance.Timestamp `msgpack:"u"`
	// EnqueuedAt is when the request was enqueued.
	EnqueuedAt governance.Timestamp `msgpack:"a,omitempty"`
	// Trace is the trace context of the request; empty for none.
	Trace string `msgpack:"t,omitempty"`
}

// enqueueFill enqueues a request: 1. It returns 0 for a page that is pending, and -1
// for a full queue.
//
// KEYS: queue, pending. ARGV: maximum length, TTL of the pending mark, request.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var enqueueFill = redis.NewScript(`
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[1]) then return -1 end
redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
redis.call('RPUSH', KEYS[1], ARGV[3])
return 1`)

// EnqueueFill requests a page unless it is pending. The error is ErrQueueFull or
// ErrUnavailable.
func (s *Store) EnqueueFill(ctx context.Context, f Fill) error {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	f.EnqueuedAt = governance.TimestampOf(time.Now())
	request, err := msgpack.Marshal(&f)
	if err != nil {
		return fmt.Errorf("encode a fill: %w", err)
	}
	// A queued request stays pending as long as somebody waits for it.
	ttl := max(pendingTTL, time.Until(f.Deadline.Time()))
	keys := []string{string(fillQueueKey), string(pendingKey(f.Page.Key()))}
	reply, err := enqueueFill.Run(ctx, s.conn.Client, keys, MaxQueuedFills, ttl.Milliseconds(), request).Int()
	if err != nil {
		return WrapError(err)
	}
	if reply < 0 {
		return ErrQueueFull
	}
	return nil
}

// QueueEnd is an end of the queue of fills.
type QueueEnd string

// The ends of the queue: the request that has waited longest, and the last one.
const (
	Oldest QueueEnd = "oldest"
	Newest QueueEnd = "newest"
)

// DequeueFill waits up to timeout for a request. The error is ErrNoFill or
// ErrUnavailable.
func (s *Store) DequeueFill(ctx context.Context, end QueueEnd, timeout time.Duration) (Fill, error) {
	pop := s.conn.Client.BLPop
	if end == Newest {
		pop = s.conn.Client.BRPop
	}
	reply, err := pop(ctx, timeout, string(fillQueueKey)).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return Fill{}, ErrNoFill
	case err != nil:
		return Fill{}, WrapError(err)
	}
	var f Fill
	if err := msgpack.Unmarshal([]byte(reply[1]), &f); err != nil {
		return Fill{}, fmt.Errorf("%w: decode a fill: %w", ErrNoFill, err)
	}
	return f, s.HeartbeatFill(ctx, f)
}

// HeartbeatFill keeps a request pending while a worker fills its page.
func (s *Store) HeartbeatFill(ctx context.Context, f Fill) error {
	return WrapError(s.conn.Client.Set(ctx, string(pendingKey(f.Page.Key())), "1", pendingTTL).Err())
}

// FillQueueLength returns how many requests are queued.
func (s *Store) FillQueueLength(ctx context.Context) (int64, error) {
	ctx, cancel := s.conn.WithTimeout(ctx)
	defer cancel()
	length, err := s.conn.Client.LLen(ctx, string(fillQueueKey)).Result()
	return length, WrapError(err)
}

// SetPage stores the view of a page, unless a newer one is stored. A view of something
// absent is kept for seconds only.
func (s *Store) SetPage(ctx context.Context, r PageRequest, v View) error {
	value, err := v.encode()
	if err != nil {
		return err
	}
	ttl := pageTTL
	if v.Absent {
		ttl = absentTTL
	}
	keys := []string{string(r.Key())}
	return WrapError(setNewerTTL.Run(ctx, s.conn.Client, keys, v.Revision, value, ttl.Milliseconds()).Err())
}

// CompleteFill tells all waiting nodes that a request is done: the page is stored, or
// failed is true and it will not be.
func (s *Store) CompleteFill(ctx context.Context, f Fill, failed bool) error {
	key := f.Page.Key()
	message := string(key)
	if failed {
		message = failedPrefix + message
	}
	_, err := s.conn.Client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Del(ctx, string(pendingKey(key)))
		pipe.Publish(ctx, string(fillDoneChannel), message)
		return nil
	})
	return WrapError(err)
}

// failedPrefix starts the message about a fill that failed.
const failedPrefix = "!"

// SubscribeFills calls done for every completed fill, until ctx ends. Messages sent
// while the connection is down are lost, so nodes that wait for a page also poll.
func (s *Store) SubscribeFills(ctx context.Context, done func(key Key, failed bool)) {
	s.subscribe(ctx, fillDoneChannel, func() {}, func(message string) {
		key, failed := strings.CutPrefix(message, failedPrefix)
		done(Key(key), failed)
	})
}
