// Package publish writes what has changed in the warehouse to Redis, as one revision at
// a time: the proposals, DAOs, topics and lists that newly committed batches touch, or
// that the passing of time has changed.
package publish

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/telemetry"
	"pnyx/warehouse"
	"pnyx/worker/backoff"
)

// maxRest bounds the pause after a long publication: what is imported meanwhile should
// not wait.
const maxRest = time.Second

// ErrFailedOver ends Run when Redis has failed over or was restarted. The next Run
// publishes everything again.
var ErrFailedOver = errors.New("redis has failed over or was restarted")

// Options configures a Publisher.
type Options struct {
	// Warehouse is read, and Store is written.
	Warehouse *warehouse.Warehouse
	Store     *cache.Store
	// Lease is held by the caller for as long as Run runs.
	Lease *cache.Lease
	// Interval is the time between two checks for changes.
	Interval time.Duration
	// Invalidate tells API nodes and edge caches what has changed. It returns at once.
	Invalidate func(ctx context.Context, written *cache.Writer)
	// OnPublish is called after every publication, and returns at once.
	OnPublish func()
	// Logger receives a line for every publication.
	Logger *slog.Logger
	// Metrics registers the publisher's metrics, and Errors counts failed attempts.
	Metrics prometheus.Registerer
	Errors  prometheus.Counter
	// Tracer is nil when tracing is off.
	Tracer *telemetry.Tracer
}

// Publisher publishes what has changed in the warehouse to Redis.
type Publisher struct {
	warehouse  *warehouse.Warehouse
	store      *cache.Store
	lease      *cache.Lease
	interval   time.Duration
	invalidate func(context.Context, *cache.Writer)
	onPublish  func()
	logger     *slog.Logger
	metrics    metrics
	errors     prometheus.Counter
	tracer     *telemetry.Tracer
	// copiesPending wakes MaintainSortedCopies.
	copiesPending chan struct{}
}

// New returns a Publisher that does nothing until Run.
func New(o Options) *Publisher {
	return &Publisher{
		warehouse: o.Warehouse, store: o.Store, lease: o.Lease, interval: o.Interval,
		invalidate: o.Invalidate, onPublish: o.OnPublish, logger: o.Logger,
		metrics: newMetrics(o.Metrics), errors: o.Errors, tracer: o.Tracer,
		copiesPending: make(chan struct{}, 1),
	}
}

// Run checks for changes at every interval and publishes them, until ctx ends or an
// attempt fails, and returns the cause. After a long publication it pauses for up to
// maxRest, so that imports get their share of the machine.
func (p *Publisher) Run(ctx context.Context) error {
	term := leaderTerm{publisher: p}
	for {
		began := time.Now()
		if err := term.step(ctx); err != nil {
			return err
		}
		backoff.Wait(ctx, max(p.interval, min(time.Since(began), maxRest)))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}
