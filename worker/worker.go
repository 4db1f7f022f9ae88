// Package worker turns what is in the warehouse into what API nodes serve from the
// cache: it takes the batches that imports have sealed, works out the proposals
// and DAOs they touch, and publishes the result as one revision. Any number of
// workers may run; one at a time holds the lease and publishes.
package worker

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/telemetry"
	"pnyx/warehouse"
)

// longestRetry bounds the back-off after an error.
const longestRetry = 10 * time.Second

// longestRest bounds the pause after a publication that took long: what is imported
// meanwhile should not wait.
const longestRest = time.Second

// Options says what a worker works on.
type Options struct {
	Warehouse *warehouse.Warehouse
	Store     *cache.Store
	// Interval is how often the worker looks for something to publish.
	Interval time.Duration
	// LeaseTTL is how long a worker that died keeps others from taking over.
	LeaseTTL time.Duration
	// Purge tells caches in front of the API what is outdated, and returns at once; nil
	// when there are none.
	Purge   func(tags []cache.Tag)
	Logger  *slog.Logger
	Metrics prometheus.Registerer
	// Tracer is nil when no traces are made.
	Tracer *telemetry.Tracer
}

// Worker publishes while it holds the lease.
type Worker struct {
	warehouse *warehouse.Warehouse
	store     *cache.Store
	lease     *cache.Lease
	interval  time.Duration
	leaseTTL  time.Duration
	purge     func([]cache.Tag)
	logger    *slog.Logger
	metrics   metrics
	tracer    *telemetry.Tracer
	// outdated gets a hint when a publication left ordered copies behind, and published
	// whenever there was one.
	outdated, published chan struct{}
}

// New returns a worker that does nothing until Run.
func New(o Options) *Worker {
	return &Worker{
		warehouse: o.Warehouse,
		store:     o.Store,
		lease:     o.Store.NewLease(o.LeaseTTL),
		interval:  o.Interval,
		leaseTTL:  o.LeaseTTL,
		purge:     o.Purge,
		logger:    o.Logger,
		metrics:   newMetrics(o.Metrics),
		tracer:    o.Tracer,
		outdated:  make(chan struct{}, 1),
		published: make(chan struct{}, 1),
	}
}

// Run publishes whenever the lease can be had, until ctx ends. Errors of the
// warehouse and of Redis are logged and tried again, with growing pauses.
func (w *Worker) Run(ctx context.Context) {
	pause := w.interval
	for ctx.Err() == nil {
		began := time.Now()
		err := w.lead(ctx)
		if time.Since(began) > longestRetry {
			pause = w.interval // what was wrong before is long over
		}
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, cache.ErrNotLeader), errors.Is(err, errFailedOver):
			pause = w.interval
		default:
			w.metrics.errors.Inc()
			w.logger.LogAttrs(ctx, slog.LevelError, "publication interrupted", slog.Any("error", err))
			pause = min(2*pause, longestRetry)
		}
		wait(ctx, jittered(pause))
	}
}

// lead takes the lease and publishes for as long as it is held. It returns the
// error that ended it: cache.ErrNotLeader when another worker leads.
func (w *Worker) lead(ctx context.Context) error {
	if err := w.lease.Acquire(ctx); err != nil {
		return err
	}
	w.metrics.leading.Set(1)
	defer w.metrics.leading.Set(0)
	ctx, cancel := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { cancel(w.keepLease(ctx)) })
	beside.Go(func() { w.keepOrders(ctx) })
	beside.Go(func() { w.keepChronicle(ctx) })
	err := w.publishUntil(ctx)
	cancel(err)
	beside.Wait()
	// Shutting down is no reason to make the next worker wait for the lease's end.
	release, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	return errors.Join(context.Cause(ctx), w.lease.Release(release))
}

// keepLease renews the lease until ctx ends or it can be held no longer.
func (w *Worker) keepLease(ctx context.Context) error {
	held := time.Now()
	for {
		wait(ctx, w.leaseTTL/4)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		attempt, cancel := context.WithTimeout(ctx, w.leaseTTL/4)
		err := w.lease.Acquire(attempt)
		cancel()
		switch {
		case err == nil:
			held = time.Now()
		case errors.Is(err, cache.ErrNotLeader), time.Since(held) > w.leaseTTL/2:
			return err
		}
	}
}

// publishUntil looks for something to publish at every interval. After a long
// publication it rests for a moment, so that imports get their share of the machine.
func (w *Worker) publishUntil(ctx context.Context) error {
	session := session{worker: w}
	for {
		began := time.Now()
		if err := session.step(ctx); err != nil {
			return err
		}
		wait(ctx, max(w.interval, min(time.Since(began), longestRest)))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// outdate tells API nodes, and the caches in front of them, that what was written is
// there. Neither has to hear it: nodes look for themselves, and nothing is kept long.
func (w *Worker) outdate(ctx context.Context, written *cache.Writer) {
	if err := w.store.Announce(ctx); err != nil && ctx.Err() == nil {
		w.logger.LogAttrs(ctx, slog.LevelWarn, "publication not announced", slog.Any("error", err))
	}
	if w.purge != nil {
		w.purge(written.Changed())
	}
}

// wait returns after a while, or when ctx ends.
func wait(ctx context.Context, while time.Duration) {
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// jittered spreads retries of many workers over half the pause.
func jittered(pause time.Duration) time.Duration {
	return pause/2 + rand.N(pause/2+1) //nolint:gosec // no secret
}
