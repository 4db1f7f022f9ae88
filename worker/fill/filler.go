// Package fill makes the pages that API nodes request: those that publication does not
// write in advance.
package fill

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"pnyx/cache"
	"pnyx/governance/query"
	"pnyx/telemetry"
	"pnyx/warehouse"
	"pnyx/worker/backoff"
)

const (
	// fillConcurrency is how many fills one worker runs at a time: enough to keep two
	// cores of the warehouse busy while other fills wait for it.
	fillConcurrency = 4
	// dequeueTimeout bounds one wait for a request.
	dequeueTimeout = time.Second
	// overloadWait is the time in the queue from which on the worker counts as
	// overloaded. A request with less than minTimeLeft is not started then.
	overloadWait = time.Second
	minTimeLeft  = overloadWait / 2
	// heartbeatInterval is the pause between two heartbeats of a request.
	heartbeatInterval = 500 * time.Millisecond
	// queueLengthInterval is the pause between two measurements of the queue.
	queueLengthInterval = time.Second
	// unpublishedLogInterval is the pause between two lines that say that Redis is empty.
	unpublishedLogInterval = 10 * time.Second
)

// Options configures a Filler.
type Options struct {
	// Warehouse is where pages are read from.
	Warehouse *warehouse.Warehouse
	// Store holds the queue and the pages.
	Store *cache.Store
	// Timeout bounds one fill.
	Timeout time.Duration
	// Logger gets the errors of fills.
	Logger *slog.Logger
	// Metrics is where the metrics of fills are registered.
	Metrics prometheus.Registerer
	// Tracer is nil when nothing is traced.
	Tracer *telemetry.Tracer
}

// Filler makes the pages that API nodes enqueue. Any number of fillers may run, in any
// number of processes.
type Filler struct {
	Options

	metrics  fillMetrics
	builders map[query.Kind]builder
	// unpublishedLogged is when logFailure last logged that Redis is empty, in
	// nanoseconds since 1970.
	unpublishedLogged atomic.Int64
}

// New returns a Filler. Run starts it.
func New(o Options) *Filler {
	kinds := builders()
	return &Filler{Options: o, metrics: newFillMetrics(o.Metrics, kinds), builders: kinds}
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
	pause, end := dequeueTimeout/10, cache.Oldest
	for ctx.Err() == nil {
		fill, err := f.Store.DequeueFill(ctx, end, dequeueTimeout)
		switch {
		case err == nil:
			pause, end = dequeueTimeout/10, nextEnd(fill, time.Now())
			// A request that was dequeued is finished also during a shutdown.
			f.fill(context.WithoutCancel(ctx), fill)
		case errors.Is(err, cache.ErrNoFill), ctx.Err() != nil:
		default:
			f.Logger.LogAttrs(ctx, slog.LevelWarn, "fill queue not read, retrying", slog.Any("error", err))
			backoff.Wait(ctx, backoff.Jitter(pause))
			pause = backoff.Next(pause)
		}
	}
}

// nextEnd returns the end of the queue to dequeue from next. Under overload, callers at
// the front give up before their page is made: in arrival order hardly any request would
// succeed.
func nextEnd(previous cache.Fill, now time.Time) cache.QueueEnd {
	if hasWaitedLong(previous, now) {
		return cache.Newest
	}
	return cache.Oldest
}

func hasWaitedLong(fill cache.Fill, now time.Time) bool {
	return fill.EnqueuedAt != 0 && now.Sub(fill.EnqueuedAt.Time()) > overloadWait
}

// isTooLate reports whether the callers will have given up when the page is made.
func isTooLate(fill cache.Fill, now time.Time) bool {
	left := fill.Deadline.Time().Sub(now)
	return left < 0 || left < minTimeLeft && hasWaitedLong(fill, now)
}

// fill makes the requested page, unless its callers will have given up.
func (f *Filler) fill(ctx context.Context, fill cache.Fill) {
	began := time.Now()
	if fill.EnqueuedAt != 0 {
		f.metrics.waited.Observe(max(0, began.Sub(fill.EnqueuedAt.Time()).Seconds()))
	}
	ctx, span := f.Tracer.Start(f.Tracer.Extract(ctx, fill.Trace), "fill "+string(fill.Page.Kind), trace.SpanKindConsumer)
	defer span.End()
	outcome := "made"
	defer func() {
		f.metrics.observe(fill.Page.Kind, outcome, time.Since(began))
	}()
	if isTooLate(fill, began) {
		outcome = "abandoned"
		f.complete(ctx, fill, true)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	if f.isStored(ctx, fill.Page) {
		outcome = "stored"
		f.complete(ctx, fill, false)
		return
	}
	beating, stop := context.WithCancel(ctx)
	var heartbeats sync.WaitGroup
	heartbeats.Go(func() { f.sendHeartbeats(beating, fill) })
	view, err := f.build(ctx, fill.Page)
	if err == nil {
		err = f.Store.SetPage(ctx, fill.Page, view)
	}
	if err != nil {
		outcome = "failed"
		span.SetError(outcome)
		f.logFailure(ctx, fill, err)
	}
	// A heartbeat after the end would keep the page from being enqueued again.
	stop()
	heartbeats.Wait()
	f.complete(ctx, fill, err != nil)
}

// isStored reports whether a page is there and fresh: its caller had missed it, and was so
// late to enqueue the request that the page was made for others meanwhile.
func (f *Filler) isStored(ctx context.Context, r cache.PageRequest) bool {
	v, version, err := f.Store.Page(ctx, r)
	return err == nil && v.IsFresh(version)
}

// logFailure logs why a page was not made. Nothing is wrong where Redis was flushed: pages
// that need a publication fail until the next one, which takes seconds, and one line in
// unpublishedLogInterval says so.
func (f *Filler) logFailure(ctx context.Context, fill cache.Fill, err error) {
	level, message := slog.LevelError, "filling a page failed"
	if errors.Is(err, cache.ErrMiss) {
		now, last := time.Now().UnixNano(), f.unpublishedLogged.Load()
		if now-last < int64(unpublishedLogInterval) || !f.unpublishedLogged.CompareAndSwap(last, now) {
			return
		}
		level, message = slog.LevelInfo, "Redis is empty, some pages are not filled until the next publication"
	}
	f.Logger.LogAttrs(ctx, level, message, slog.String("page", string(fill.Page.Key())), slog.Any("error", err)) //nolint:sloglint // one of two messages
}

// complete wakes those who wait for the page.
func (f *Filler) complete(ctx context.Context, fill cache.Fill, failed bool) {
	if err := f.Store.CompleteFill(ctx, fill, failed); err != nil {
		f.Logger.LogAttrs(ctx, slog.LevelWarn, "callers not told that a page is filled, they poll for it", slog.Any("error", err))
	}
}

// sendHeartbeats keeps the request from being enqueued again, until ctx ends with it.
func (f *Filler) sendHeartbeats(ctx context.Context, fill cache.Fill) {
	for {
		backoff.Wait(ctx, heartbeatInterval)
		if ctx.Err() != nil {
			return
		}
		if err := f.Store.HeartbeatFill(ctx, fill); err != nil && ctx.Err() == nil {
			f.Logger.LogAttrs(ctx, slog.LevelWarn, "heartbeat of a fill not sent, retrying", slog.Any("error", err))
		}
	}
}

// measureQueue updates the metric of the queue's length until ctx ends.
func (f *Filler) measureQueue(ctx context.Context) {
	for ctx.Err() == nil {
		if queued, err := f.Store.FillQueueLength(ctx); err == nil {
			f.metrics.queued.Set(float64(queued))
		}
		backoff.Wait(ctx, queueLengthInterval)
	}
}
