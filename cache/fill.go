package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
	"pnyx/governance/query"
)

// A page that is not stored is filled on demand: an API node enqueues a request, a worker answers it with a
// view, and every node that waits for the view reads it. A request that is queued or in work is marked as
// pending, so that one worker fills a page. The mark expires: when a worker dies, nodes enqueue it again.

var (
	// ErrQueueFull means that the queue holds MaxQueuedFills requests.
	ErrQueueFull = errors.New("the queue of fills is full")
	// ErrNoFill means that no request arrived while a worker waited.
	ErrNoFill = errors.New("no fill is queued")
)

const (
	// MaxQueuedFills bounds the queue of each kind of page, so that a flood of one kind sheds no other. Even built
	// one by one, four at a time and 20 ms each, a full queue takes two and a half seconds; callers wait no longer
	// than that.
	MaxQueuedFills = 500
	// pendingTTL is how long a request stays pending without a heartbeat of its worker.
	pendingTTL = 2 * time.Second
	pageTTL    = 10 * time.Minute
	// partTTL is how long a part of an export is kept: long enough for a download that is resumed at once, since
	// a part takes a thousand times the memory of a page.
	partTTL = time.Minute
	// absentTTL is how long a page says that its subject does not exist.
	absentTTL = 3 * time.Second
	// wakeTTL is how long an entry is kept that came too late to end a wait.
	wakeTTL = time.Minute
)

// Fill is a request for a page.
type Fill struct {
	Page PageRequest `msgpack:"p"`
	// Deadline is when the last caller stops waiting for the page.
	Deadline governance.Timestamp `msgpack:"u"`
	// Kept pages are made after Deadline, too, in the order in which they were requested: callers return for them.
	Kept       bool                 `msgpack:"k,omitempty"`
	EnqueuedAt governance.Timestamp `msgpack:"a,omitempty"`
	Trace      string               `msgpack:"t,omitempty"` // trace context of the request; empty for none
}

// enqueueFill enqueues a request: 1. It returns 0 for a page that is pending, and -1 for a full queue.
// KEYS: queue, pending. ARGV: maximum length, TTL of the pending mark, request.
var enqueueFill = redis.NewScript(`
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[1]) then return -1 end
redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
redis.call('RPUSH', KEYS[1], ARGV[3])
return 1`)

// rotateFills appends a request to a queue and takes the first one. KEYS: queue. ARGV: request.
var rotateFills = redis.NewScript(`
redis.call('RPUSH', KEYS[1], ARGV[1])
return redis.call('LPOP', KEYS[1])`)

// Fills are the queues of requests for pages.
type Fills struct{ store *Store }

// Fills returns the queues of requests for pages.
func (s *Store) Fills() Fills { return Fills{s} }

// Enqueue requests a page unless it is pending. The error is ErrQueueFull or ErrUnavailable.
func (s Fills) Enqueue(ctx context.Context, f Fill) error {
	f.EnqueuedAt = governance.TimestampOf(time.Now())
	// A queued request stays pending as long as a caller waits for it.
	ttl := max(pendingTTL, time.Until(f.Deadline.Time()))
	keys := []string{string(fillQueueKey(f.Page.Kind)), string(pendingKey(f.Page.Key()))}
	reply, err := Run(ctx, s.store.conn, enqueueFill, keys, MaxQueuedFills, ttl.Milliseconds(), Encode(&f)).Int()
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

// Dequeue waits up to timeout for a request of one of the kinds, whose first has precedence, and takes up to
// limit of the kind that are queued with it. It calls limit as soon as it has the first. The wait ends with ctx.
// The error is ErrNoFill or ErrUnavailable.
func (s Fills) Dequeue(
	ctx context.Context, kinds []query.Kind, end QueueEnd, limit func(query.Kind) int, timeout time.Duration,
) ([]Fill, error) {
	pop := Client(s.store.conn).BLPop
	if end == Newest {
		pop = Client(s.store.conn).BRPop
	}
	wake := Key(fillTag + "wake:" + rand.Text()) // a queue that ends this wait
	defer context.AfterFunc(ctx, func() { s.wakeDequeue(ctx, wake) })()
	// A Redis that does not answer is given up before the client would.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout+s.store.conn.Timeout)
	defer cancel()
	reply, err := pop(bounded, timeout, append(fillQueueKeys(kinds), string(wake))...).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, ErrNoFill
	case err != nil:
		return nil, WrapError(err)
	case reply[0] == string(wake):
		return nil, ErrNoFill
	}
	fills := decodeFills(reply[1:])
	if end == Newest && len(fills) > 0 && fills[0].Kept {
		fills = swapForOldest(ctx, s.store, reply[0], reply[1], fills)
	}
	kind := query.Kind(strings.TrimPrefix(reply[0], string(fillQueueKey(""))))
	if more := limit(kind) - 1; more > 0 {
		fills = append(fills, s.DequeueMore(bounded, kind, end, more)...)
	}
	if len(fills) == 0 {
		return nil, fmt.Errorf("%w: a request does not decode", ErrNoFill)
	}
	return fills, nil
}

// swapForOldest puts the newest request back and returns the oldest one, or the newest if Redis does not answer.
func swapForOldest(ctx context.Context, s *Store, queue, request string, newest []Fill) []Fill {
	oldest, err := Run(context.WithoutCancel(ctx), s.conn, rotateFills, []string{queue}, request).Text()
	if err != nil {
		return newest
	}
	return decodeFills([]string{oldest})
}

// wakeDequeue ends the wait of a Dequeue by an entry of a queue of its own. Closing the connection instead
// would lose the request that Redis sends at that moment.
func (s Fills) wakeDequeue(ended context.Context, wake Key) {
	ctx := context.WithoutCancel(ended)
	// Without the entry the wait ends with its timeout.
	_ = Pipelined(ctx, s.store.conn, func(pipe redis.Pipeliner) {
		pipe.RPush(ctx, string(wake), "")
		pipe.Expire(ctx, string(wake), wakeTTL)
	})
}

// DequeueMore takes up to limit queued requests of a kind. After an error they stay queued.
func (s Fills) DequeueMore(ctx context.Context, kind query.Kind, end QueueEnd, limit int) []Fill {
	pop := Client(s.store.conn).LPopCount
	if end == Newest {
		pop = Client(s.store.conn).RPopCount
	}
	requests, _ := pop(ctx, string(fillQueueKey(kind)), limit).Result()
	return decodeFills(requests)
}

// decodeFills decodes requests. It leaves out requests of another version, whose callers ask again.
func decodeFills(requests []string) []Fill {
	fills := make([]Fill, 0, len(requests))
	for _, request := range requests {
		var f Fill
		if msgpack.Unmarshal([]byte(request), &f) == nil {
			fills = append(fills, f)
		}
	}
	return fills
}

func fillQueueKeys(kinds []query.Kind) []string {
	keys := make([]string, len(kinds))
	for i, kind := range kinds {
		keys[i] = string(fillQueueKey(kind))
	}
	return keys
}

// Heartbeat keeps requests pending while a worker fills their pages. Before it, the marks end at the deadlines.
func (s Fills) Heartbeat(ctx context.Context, fills []Fill) error {
	return WrapError(Pipelined(ctx, s.store.conn, func(pipe redis.Pipeliner) {
		for _, f := range fills {
			pipe.Set(ctx, string(pendingKey(f.Page.Key())), "1", pendingTTL)
		}
	}))
}

// Length returns how many requests are in the longest queue of the kinds.
func (s Fills) Length(ctx context.Context, kinds []query.Kind) (longest int64, err error) {
	lengths := make([]*redis.IntCmd, len(kinds))
	err = Pipelined(ctx, s.store.conn, func(pipe redis.Pipeliner) {
		for i, key := range fillQueueKeys(kinds) {
			lengths[i] = pipe.LLen(ctx, key)
		}
	})
	for _, length := range lengths {
		longest = max(longest, length.Val())
	}
	return longest, WrapError(err)
}

// CompletedFill is a request that is done: the page is stored, or Failed is true and it will not be.
type CompletedFill struct {
	Page PageRequest
	// View is stored as the page, unless a newer one is; nil where one is stored already, or there is none.
	View   *View
	Failed bool
}

// Complete stores the pages of requests, tells all waiting nodes in the same round trip, and returns an error for
// each. A Cluster may tell a node too early: the node requests the page again and finds it stored.
func (s Fills) Complete(ctx context.Context, fills []CompletedFill) []error {
	errs := make([]error, len(fills))
	set, told := make([]*redis.Cmd, len(fills)), make([]*redis.IntCmd, len(fills))
	_, _ = Client(s.store.conn).Pipelined(ctx, func(pipe redis.Pipeliner) error { // each command has its own error
		for i, f := range fills {
			if f.View != nil {
				set[i] = queuePageOf(ctx, pipe, f)
			}
		}
		for i, f := range fills {
			told[i] = queueMessageOf(ctx, pipe, f)
		}
		return nil
	})
	var lost []CompletedFill
	for i, f := range fills {
		switch {
		case set[i] != nil && set[i].Err() != nil:
			errs[i] = WrapError(set[i].Err())
			lost = append(lost, CompletedFill{Page: f.Page, Failed: true})
		default:
			errs[i] = WrapError(told[i].Err())
		}
	}
	if len(lost) > 0 {
		// They were told of a page that is not stored, and may request it again until then.
		_ = s.Complete(ctx, lost)
	}
	return errs
}

func queuePageOf(ctx context.Context, pipe redis.Pipeliner, f CompletedFill) *redis.Cmd {
	ttl := pageTTL
	switch {
	case f.View.Absent:
		ttl = absentTTL
	case f.Page.Kind == query.KindBallotPart, f.Page.Kind == query.KindDAOPart:
		ttl = partTTL
	}
	// The text of the script, as Writer sends it.
	return setNewerTTL.Eval(ctx, pipe, []string{string(f.Page.Key())}, f.View.Revision, f.View.encode(), ttl.Milliseconds())
}

func queueMessageOf(ctx context.Context, pipe redis.Pipeliner, f CompletedFill) *redis.IntCmd {
	key := f.Page.Key()
	message := string(key)
	if f.Failed {
		message = failedPrefix + message
	}
	pipe.Del(ctx, string(pendingKey(key)))
	return pipe.Publish(ctx, string(fillDoneChannel), message)
}

// failedPrefix starts the message about a fill that failed.
const failedPrefix = "!"

// Subscribe calls done for every completed fill, until ctx ends. Messages that are sent while the connection is
// down are lost, so nodes that wait for a page also poll.
func (s Fills) Subscribe(ctx context.Context, done func(key Key, failed bool)) {
	subscribe(ctx, s.store, fillDoneChannel, func() {}, func(message string) {
		key, failed := strings.CutPrefix(message, failedPrefix)
		done(Key(key), failed)
	})
}
