// Package fill makes the pages that API nodes request: those that publication does not
// write in advance.
package fill

import (
	"context"
	"errors"
	"log/slog"
	"sync"
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
	// fillConcurrency is how many fills one worker works on: enough to keep two cores
	// of the warehouse busy while others wait for it.
	fillConcurrency = 4
	// takeFor is how long one wait for a request lasts.
	takeFor = time.Second
	// longWait in the queue means that there is more to do than can be done, and
	// tooLittle is what is too little to make a page then.
	longWait  = time.Second
	tooLittle = longWait / 2
	// keepEvery is how often a worker says that it is still at a request.
	keepEvery = 500 * time.Millisecond
	// queueLookEvery is how often the length of the queue is measured.
	queueLookEvery = time.Second
)

// Options says what fills are answered from.
type Options struct {
	// Warehouse is read to make pages.
	Warehouse *warehouse.Warehouse
	// Store holds the requests for pages, and the pages.
	Store *cache.Store
	// Timeout bounds one fill.
	Timeout time.Duration
	// Logger receives what fails.
	Logger *slog.Logger
	// Metrics registers the filler's metrics; it is required.
	Metrics prometheus.Registerer
	// Tracer is nil when no traces are made.
	Tracer *telemetry.Tracer
}

// Filler answers requests for pages that nobody asked for before. Any number of
// them may run, in any number of processes.
type Filler struct {
	warehouse *warehouse.Warehouse
	store     *cache.Store
	timeout   time.Duration
	logger    *slog.Logger
	metrics   fillMetrics
	tracer    *telemetry.Tracer
	builders  map[query.Kind]builder
}

// New returns a filler that does nothing until Run.
func New(o Options) *Filler {
	return &Filler{
		warehouse: o.Warehouse, store: o.Store, timeout: o.Timeout, logger: o.Logger,
		metrics: newFillMetrics(o.Metrics), tracer: o.Tracer, builders: builders(),
	}
}

// Run answers requests until ctx ends; those under way are finished first.
func (f *Filler) Run(ctx context.Context) {
	var working sync.WaitGroup
	for range fillConcurrency {
		working.Go(func() { f.takeFills(ctx) })
	}
	working.Go(func() { f.watchQueue(ctx) })
	working.Wait()
}

func (f *Filler) takeFills(ctx context.Context) {
	pause, end := takeFor/10, cache.Oldest
	for ctx.Err() == nil {
		fill, err := f.store.DequeueFill(ctx, end, takeFor)
		switch {
		case err == nil:
			pause, end = takeFor/10, nextEnd(fill, time.Now())
			// What was taken is finished, whoever shuts down meanwhile.
			f.answer(context.WithoutCancel(ctx), fill)
		case errors.Is(err, cache.ErrNoFill), ctx.Err() != nil:
		default:
			f.logger.LogAttrs(ctx, slog.LevelWarn, "no fills can be taken", slog.Any("error", err))
			backoff.Wait(ctx, backoff.Jitter(pause))
			pause = backoff.Next(pause)
		}
	}
}

// nextEnd says whose turn it is after a request. While more comes than can be done,
// those at the front of the queue will have given up before their page is made: taken
// in turn, nobody would get any.
func nextEnd(taken cache.Fill, now time.Time) cache.QueueEnd {
	if hasWaitedLong(taken, now) {
		return cache.Newest
	}
	return cache.Oldest
}

func hasWaitedLong(fill cache.Fill, now time.Time) bool {
	return fill.EnqueuedAt != 0 && now.Sub(fill.EnqueuedAt.Time()) > longWait
}

// isTooLate says that nobody will be there any more when the page is made.
func isTooLate(fill cache.Fill, now time.Time) bool {
	left := fill.Deadline.Time().Sub(now)
	return left < 0 || left < tooLittle && hasWaitedLong(fill, now)
}

// answer makes the page that is asked for, unless nobody will wait for it.
func (f *Filler) answer(ctx context.Context, fill cache.Fill) {
	began := time.Now()
	if fill.EnqueuedAt != 0 {
		f.metrics.waited.Observe(max(0, began.Sub(fill.EnqueuedAt.Time()).Seconds()))
	}
	ctx, span := f.tracer.Start(f.tracer.Extract(ctx, fill.Trace), "fill "+string(fill.Page.Kind), trace.SpanKindConsumer)
	defer span.End()
	outcome := "made"
	defer func() {
		f.metrics.observe(fill.Page.Kind, outcome, time.Since(began))
	}()
	if isTooLate(fill, began) {
		outcome = "abandoned"
		f.finish(ctx, fill, true)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	go f.keep(ctx, fill)
	view, err := f.build(ctx, fill.Page)
	if err == nil {
		err = f.store.SetPage(ctx, fill.Page, view)
	}
	if err != nil {
		outcome = "failed"
		span.SetError(outcome)
		f.logger.LogAttrs(ctx, slog.LevelError, "fill", slog.String("page", string(fill.Page.Key())), slog.Any("error", err))
	}
	f.finish(ctx, fill, err != nil)
}

func (f *Filler) finish(ctx context.Context, fill cache.Fill, failed bool) {
	if err := f.store.CompleteFill(ctx, fill, failed); err != nil {
		f.logger.LogAttrs(ctx, slog.LevelWarn, "finish a fill", slog.Any("error", err))
	}
}

// keep lets others know that the request is worked on, until it is done.
func (f *Filler) keep(ctx context.Context, fill cache.Fill) {
	for {
		backoff.Wait(ctx, keepEvery)
		if ctx.Err() != nil {
			return
		}
		if err := f.store.HeartbeatFill(ctx, fill); err != nil && ctx.Err() == nil {
			f.logger.LogAttrs(ctx, slog.LevelWarn, "keep a fill", slog.Any("error", err))
		}
	}
}

func (f *Filler) watchQueue(ctx context.Context) {
	for ctx.Err() == nil {
		if queued, err := f.store.FillQueueLength(ctx); err == nil {
			f.metrics.queued.Set(float64(queued))
		}
		backoff.Wait(ctx, queueLookEvery)
	}
}
