package cache

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
)

// A page that nobody asked for yet is filled on demand: an API node queues the
// request, a worker answers it with a view, and everyone who waits for that view
// gets it. A request that is queued or worked on is marked as pending, so that
// however many nodes ask, one worker works. The mark ends by itself: when a worker
// dies, those who wait ask again.

// Errors of a fill.
var (
	// ErrQueueFull is a queue that takes no more.
	ErrQueueFull = errors.New("the queue of fills is full")
	// ErrNoFill is a queue that nothing came into while a worker waited.
	ErrNoFill = errors.New("no fill is asked for")
)

const (
	// MaxQueuedFills bounds the queue. At 20 ms a fill and four at a time it is
	// worth two and a half seconds of waiting: callers have patience for no more.
	MaxQueuedFills = 500
	// pendingFor is how long a request stays pending without a sign of life from the
	// worker that has it.
	pendingFor = 2 * time.Second
	// pageTTL is how long a page is kept that nobody may ask for again.
	pageTTL = 10 * time.Minute
	// absentTTL is how long it is remembered that something does not exist.
	absentTTL = 3 * time.Second
)

// Fill is a request for a page.
type Fill struct {
	Page PageRequest `msgpack:"p"`
	// Deadline is when those who asked will have given up.
	Deadline governance.Timestamp `msgpack:"u"`
	// EnqueuedAt is when it was queued, and Trace the trace that it belongs to; empty for
	// none.
	EnqueuedAt governance.Timestamp `msgpack:"a,omitempty"`
	Trace      string               `msgpack:"t,omitempty"`
}

// askFill queues a request unless it is pending or the queue is full: 1, 0 or -1.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var askFill = redis.NewScript(`
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[1]) then return -1 end
redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
redis.call('RPUSH', KEYS[1], ARGV[3])
return 1`)

// EnqueueFill asks for a page, unless somebody already has. The error is ErrQueueFull
// or ErrUnavailable.
func (s *Store) EnqueueFill(ctx context.Context, f Fill) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	f.EnqueuedAt = governance.TimestampOf(time.Now())
	request, err := msgpack.Marshal(&f)
	if err != nil {
		return fmt.Errorf("encode a request for a fill: %w", err)
	}
	// A request waits in the queue for as long as there is somebody to wait for it.
	pending := max(pendingFor, time.Until(f.Deadline.Time()))
	asked, err := askFill.Run(ctx, s.client, []string{string(fillQueueKey), string(pendingKey(f.Page.Key()))},
		MaxQueuedFills, pending.Milliseconds(), request).Int()
	if err != nil {
		return readError(err)
	}
	if asked < 0 {
		return ErrQueueFull
	}
	return nil
}

// QueueEnd is one of the two of the queue of fills.
type QueueEnd string

// The ends: whoever has waited longest, and whoever came last.
const (
	Oldest QueueEnd = "oldest"
	Newest QueueEnd = "newest"
)

// DequeueFill waits a while for a request. The error is ErrNoFill or ErrUnavailable.
func (s *Store) DequeueFill(ctx context.Context, end QueueEnd, while time.Duration) (Fill, error) {
	take := s.client.BLPop
	if end == Newest {
		take = s.client.BRPop
	}
	taken, err := take(ctx, while, string(fillQueueKey)).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return Fill{}, ErrNoFill
	case err != nil:
		return Fill{}, readError(err)
	}
	var f Fill
	if err := msgpack.Unmarshal([]byte(taken[1]), &f); err != nil {
		return Fill{}, fmt.Errorf("%w: a request does not decode: %w", ErrNoFill, err)
	}
	return f, s.HeartbeatFill(ctx, f)
}

// HeartbeatFill says that a worker is still at a request.
func (s *Store) HeartbeatFill(ctx context.Context, f Fill) error {
	return readError(s.client.Set(ctx, string(pendingKey(f.Page.Key())), "1", pendingFor).Err())
}

// FillQueueLength returns how many requests wait.
func (s *Store) FillQueueLength(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	queued, err := s.client.LLen(ctx, string(fillQueueKey)).Result()
	return queued, readError(err)
}

// setPage writes a page unless a newer revision stands there, with a lifetime.
//
//nolint:gochecknoglobals // scripts are constants that know their own hash
var setPage = redis.NewScript(`
local held = tonumber(redis.call('GETRANGE', KEYS[1], 0, ` + strconv.Itoa(revisionDigits-1) + `))
if not held or held <= tonumber(ARGV[1]) then
	redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
	return 1
end
return 0`)

// SetPage writes the view of a page, to be kept for a while.
func (s *Store) SetPage(ctx context.Context, r PageRequest, v View) error {
	value, err := v.encode()
	if err != nil {
		return err
	}
	ttl := pageTTL
	if v.Absent {
		ttl = absentTTL
	}
	err = setPage.Run(ctx, s.client, []string{string(r.Key())}, v.Revision, value, ttl.Milliseconds()).Err()
	return readError(err)
}

// CompleteFill tells everyone who waits that a request is done: the page is there,
// or failed says that it will not be.
func (s *Store) CompleteFill(ctx context.Context, f Fill, failed bool) error {
	key := f.Page.Key()
	message := string(key)
	if failed {
		message = failedMessage + message
	}
	_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Del(ctx, string(pendingKey(key)))
		pipe.Publish(ctx, string(fillDoneChannel), message)
		return nil
	})
	return readError(err)
}

// failedMessage begins the message about a fill that failed.
const failedMessage = "!"

// SubscribeFills calls done for every fill that ends, until ctx ends. Messages may be
// lost while the connection is: those who wait have to look themselves now and then.
func (s *Store) SubscribeFills(ctx context.Context, done func(key Key, failed bool)) {
	subscription := s.client.Subscribe(ctx, string(fillDoneChannel))
	defer subscription.Close()
	messages := subscription.Channel()
	for {
		select {
		case <-ctx.Done():
			return
		case message, open := <-messages:
			if !open {
				return
			}
			key, failed := strings.CutPrefix(message.Payload, failedMessage)
			done(Key(key), failed)
		}
	}
}
