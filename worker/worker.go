// Package worker runs the processing between the warehouse and Redis, each part in a package of its own:
//
//   - publish computes proposals, DAOs and topics from newly committed batches, and writes them to Redis;
//   - feed derives events and signals from what is published, and webhook delivers them to partners;
//   - fill makes pages that API nodes request, and dossier computes dossiers for it and for feed;
//   - changelog adds what publish and feed have written to the log of changes;
//   - account publishes tokens and stores usage and payments in the warehouse.
//
// Any number of workers may run at once. publish, feed and webhook run in the one that holds the lease (see Leader),
// fill and account in all of them.
package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/telemetry"
	"pnyx/warehouse"
	"pnyx/worker/account"
	"pnyx/worker/fill"
)

// Options configures a Worker.
type Options struct {
	// Warehouse is the source of everything.
	Warehouse *warehouse.Warehouse
	// Store is the Redis that API nodes read.
	Store *cache.Store
	// FillsOnly leaves everything out but pages on demand. Such workers can come and go with the load.
	FillsOnly bool
	// FillTimeout bounds the making of one page.
	FillTimeout time.Duration
	// PublishInterval is the time between two checks for something to publish.
	PublishInterval time.Duration
	// LeaseTTL is the time after which another worker takes over from one that died.
	LeaseTTL time.Duration
	// Purge tells caches in front of the API which tags are outdated, and returns at once; nil without such caches.
	Purge func(tags []cache.Tag)
	// PrivateReceivers allows webhooks at private addresses; see webhook.NewSender.
	PrivateReceivers bool
	// V2LaunchedAt is as in webhook.Options.
	V2LaunchedAt time.Time
	// BackupScheduled says that backups are made by themselves.
	BackupScheduled bool
	// Progress is called while proposals are published; see publish.Options.
	Progress func(done, all int)
	// Logger receives what the worker does and what fails.
	Logger *slog.Logger
	// Metrics registers the worker's metrics.
	Metrics prometheus.Registerer
	// Tracer is nil when tracing is off.
	Tracer *telemetry.Tracer
}

// Worker runs all parts of a worker process.
type Worker struct {
	parts []func(context.Context)
}

// New returns a Worker that does nothing until Run.
func New(o Options) *Worker {
	filler := fill.New(fill.Options{
		Warehouse: o.Warehouse, Store: o.Store, Timeout: o.FillTimeout,
		Logger: o.Logger, Metrics: o.Metrics, Tracer: o.Tracer,
	})
	w := &Worker{parts: []func(context.Context){filler.Run}}
	if o.FillsOnly {
		return w
	}
	accounts := account.New(account.Options{
		Warehouse: o.Warehouse, Store: o.Store, Logger: o.Logger, Metrics: o.Metrics,
	})
	w.parts = append(w.parts, accounts.Run, NewLeader(o).Run, backupWatch(o))
	return w
}

// Run works until ctx ends, and finishes what was begun: pages, usage and queued payments.
func (w *Worker) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, run := range w.parts {
		running.Go(func() { run(ctx) })
	}
	running.Wait()
}
