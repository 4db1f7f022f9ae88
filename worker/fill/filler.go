// Package fill makes the pages that API nodes request. It knows no caller, and no limit but the size of a page.
package fill

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/governance/query"
	"pnyx/telemetry"
	"pnyx/warehouse"
)

const (
	// fillConcurrency is how many sets one worker runs at a time: enough to keep two cores of the warehouse busy.
	fillConcurrency = 4
	// dequeueTimeout bounds one wait for a request: a connection that is dead goes unnoticed for as long.
	dequeueTimeout = 5 * time.Second
	retryPause     = 100 * time.Millisecond
	// overloadWait is the time in the queue from which on the worker counts as overloaded. A request with less
	// than minTimeLeft is not started then.
	overloadWait = time.Second
	minTimeLeft  = overloadWait / 2
	// keptTimeout bounds making a page that is kept. Each statement has its own bound.
	keptTimeout            = 2 * time.Minute
	heartbeatInterval      = 500 * time.Millisecond
	queueLengthInterval    = 5 * time.Second
	unpublishedLogInterval = 10 * time.Second
)

// Options configures a Filler.
type Options struct {
	Warehouse *warehouse.Warehouse
	Store     *cache.Store
	// Timeout bounds one fill.
	Timeout time.Duration
	Logger  *slog.Logger
	Metrics prometheus.Registerer
	// Tracer is nil when nothing is traced.
	Tracer *telemetry.Tracer
}

// Filler makes the pages that API nodes enqueue. Any number of fillers may run, in any number of processes.
type Filler struct {
	Options
	metrics fillMetrics
	kinds   map[query.Kind]kindOfPage
	turns   *turns
	names   heldNames
	// unpublishedLogged is when logFailure last logged that Redis is empty, in nanoseconds since 1970.
	unpublishedLogged atomic.Int64
}

// New returns a Filler. Run starts it.
func New(o Options) *Filler {
	kinds := kindsOfPages()
	return &Filler{Options: o, metrics: newFillMetrics(o.Metrics, kinds), kinds: kinds, turns: newTurns(kinds)}
}

// Run fills pages until ctx ends. It returns once the requests in progress are finished.
func (f *Filler) Run(ctx context.Context) {
	var working sync.WaitGroup
	for range fillConcurrency {
		working.Go(func() { f.work(ctx) })
	}
	working.Go(func() { f.measureQueue(ctx) })
	working.Wait()
}

func (f *Filler) work(ctx context.Context) {
	pause, end := retryPause, cache.Oldest
	for ctx.Err() == nil {
		fills, turn, err := f.dequeue(ctx, end)
		switch {
		case err == nil:
			next := nextEnd(fills[0], time.Now())
			// A request that was dequeued is finished also during a shutdown.
			f.answer(context.WithoutCancel(ctx), fills, turn, end)
			pause, end = retryPause, next
		case errors.Is(err, cache.ErrNoFill), ctx.Err() != nil:
		default:
			f.Logger.LogAttrs(ctx, slog.LevelWarn, "fill queue not read, retrying", slog.Any("error", err))
			backoff.Wait(ctx, backoff.Jitter(pause))
			pause = backoff.Next(pause)
		}
	}
}

// dequeue waits for requests while no other worker does, and takes the turn of their kind. The next then waits.
func (f *Filler) dequeue(ctx context.Context, end cache.QueueEnd) (fills []cache.Fill, turn *turn, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kinds, received := f.turns.await(ctx, cancel)
	defer received()
	if len(kinds) == 0 {
		return nil, nil, ctx.Err()
	}
	limit := func(kind query.Kind) int {
		turn = f.turns.take(kind)
		received()
		return f.kinds[kind].setSize
	}
	fills, err = f.Store.Fills().Dequeue(ctx, kinds, end, limit, dequeueTimeout)
	if err != nil && turn != nil {
		turn.release()
	}
	return fills, turn, err
}

func (f *Filler) answer(ctx context.Context, fills []cache.Fill, turn *turn, end cache.QueueEnd) {
	defer turn.release()
	defer f.Warehouse.Serve()()
	if turn.waits() {
		// Without this heartbeat the marks end at the deadlines of the requests.
		_ = f.Store.Fills().Heartbeat(ctx, fills)
	}
	kind := fills[0].Page.Kind
	if more := f.kinds[kind].setSize - len(fills); turn.gather(ctx) && more > 0 {
		fills = append(fills, f.Store.Fills().DequeueMore(ctx, kind, end, more)...)
	}
	f.fill(ctx, fills, turn.endReading)
}

// nextEnd returns the end of the queue to read next. Under overload, callers at the front give up before their
// page is made: in arrival order hardly any request would succeed.
func nextEnd(previous cache.Fill, now time.Time) cache.QueueEnd {
	if hasWaitedLong(previous, now) {
		return cache.Newest
	}
	return cache.Oldest
}

func hasWaitedLong(fill cache.Fill, now time.Time) bool {
	return !fill.Kept && fill.EnqueuedAt != 0 && now.Sub(fill.EnqueuedAt.Time()) > overloadWait
}

// isTooLate reports whether the callers will have given up when the page is made.
func isTooLate(fill cache.Fill, now time.Time) bool {
	if fill.Kept {
		return false
	}
	left := fill.Deadline.Time().Sub(now)
	return left < 0 || left < minTimeLeft && hasWaitedLong(fill, now)
}

func (f *Filler) measureQueue(ctx context.Context) {
	for ctx.Err() == nil {
		if queued, err := f.Store.Fills().Length(ctx, slices.Collect(maps.Keys(f.kinds))); err == nil {
			f.metrics.queued.Set(float64(queued))
		}
		backoff.Wait(ctx, queueLengthInterval)
	}
}

type fillMetrics struct {
	duration *prometheus.HistogramVec
	waited   prometheus.Observer
	queued   prometheus.Gauge
	kinds    map[query.Kind]kindOfPage
}

func newFillMetrics(registerer prometheus.Registerer, kinds map[query.Kind]kindOfPage) fillMetrics {
	m := fillMetrics{
		kinds: kinds,
		duration: telemetry.Histograms(registerer, telemetry.Latency("pnyx_fill_duration_seconds",
			"Duration of a fill, by kind of page and outcome: made, stored, failed, abandoned."), "kind", "outcome"),
		waited: telemetry.Histogram(registerer, telemetry.Latency("pnyx_fill_queue_wait_seconds", "Time that requests for pages waited in the fill queue.")),
		queued: telemetry.Gauge(registerer, "pnyx_fill_queue_length",
			"Requests in the longest fill queue. Each kind of page has one, which all workers share."),
	}
	telemetry.GaugeFunc(registerer, "pnyx_fill_queue_bound",
		"Requests that the fill queue of a kind can hold.", func() float64 { return cache.MaxQueuedFills })
	for kind := range kinds {
		m.duration.WithLabelValues(string(kind), "made")
	}
	return m
}

// observe counts a fill. A kind that only a newer version knows is counted as other.
func (m fillMetrics) observe(kind query.Kind, outcome string, took time.Duration) {
	if _, known := m.kinds[kind]; !known {
		kind = "other"
	}
	m.duration.WithLabelValues(string(kind), outcome).Observe(took.Seconds())
}

// turns bounds how many sets of each kind are in work, and gives the kinds precedence in turns. Of idle workers,
// one waits for requests of all kinds: each that waits costs round trips to Redis.
type turns struct {
	kinds map[query.Kind]kindOfPage

	mu sync.Mutex
	// changed is signalled when a turn or a wait has ended.
	changed sync.Cond
	// endWait ends the wait of the worker that waits for requests, of awaited kinds; nil if none waits.
	endWait func()
	awaited int
	// order has all kinds, the one that was taken last at the end.
	order []query.Kind
	// taken are the turns of each kind, in the order in which they were taken.
	taken map[query.Kind][]*turn
}

// turn is the right to build a set of a kind.
type turn struct {
	of   *turns
	kind query.Kind
	// previous is the turn of the kind that was taken before this one; nil if none was in work.
	previous *turn
	// read is closed when the set has read what it needs.
	read chan struct{}
	// endReading closes read, once.
	endReading func()
}

func newTurns(kinds map[query.Kind]kindOfPage) *turns {
	t := &turns{kinds: kinds, order: slices.Sorted(maps.Keys(kinds)), taken: map[query.Kind][]*turn{}}
	t.changed.L = &t.mu
	return t
}

// await returns the open kinds as soon as no other worker waits, and the function that ends the wait for them,
// which may be called again. The caller takes a turn of the requested kind before it calls end. endWait is called
// when another kind opens and a worker is there to wait. It returns no kinds when ctx ends.
func (t *turns) await(ctx context.Context, endWait func()) (kinds []query.Kind, end func()) {
	defer context.AfterFunc(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.changed.Broadcast()
	})()
	t.mu.Lock()
	defer t.mu.Unlock()
	for ctx.Err() == nil {
		kinds := t.open()
		switch {
		case t.endWait == nil && len(kinds) > 0:
			t.endWait, t.awaited = endWait, len(kinds)
			return kinds, sync.OnceFunc(func() {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.endWait = nil
				t.changed.Broadcast()
			})
		case t.endWait != nil && len(kinds) > t.awaited:
			t.endWait()
		}
		t.changed.Wait()
	}
	return nil, func() {}
}

// open returns the kinds of which another set may be taken, the next first. The caller holds mu.
func (t *turns) open() []query.Kind {
	return slices.DeleteFunc(slices.Clone(t.order), func(kind query.Kind) bool { return len(t.taken[kind]) >= t.kinds[kind].sets })
}

func (t *turns) take(kind query.Kind) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := &turn{of: t, kind: kind, read: make(chan struct{})}
	taken.endReading = sync.OnceFunc(func() { close(taken.read) })
	if held := t.taken[kind]; len(held) > 0 {
		taken.previous = held[len(held)-1]
	}
	t.taken[kind] = append(t.taken[kind], taken)
	i := slices.Index(t.order, kind)
	t.order = append(slices.Delete(t.order, i, i+1), kind)
	return taken
}

func (t *turn) waits() bool { return t.previous != nil && t.of.kinds[t.kind].setSize > 1 }

// gather waits until the set before has read, as long as its kind says at most, and reports whether it did: what is
// requested meanwhile belongs to this set. Two that read at a time cost twice the statements, and are done no
// sooner.
func (t *turn) gather(ctx context.Context) bool {
	if !t.waits() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, t.of.kinds[t.kind].gather)
	defer cancel()
	select {
	case <-t.previous.read:
	case <-ctx.Done():
	}
	return true
}

func (t *turn) release() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.taken[t.kind] = slices.DeleteFunc(t.of.taken[t.kind], func(other *turn) bool { return other == t })
	t.of.changed.Broadcast()
	t.endReading()
}
