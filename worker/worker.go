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

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/telemetry"
	"pnyx/warehouse"
	"pnyx/warehouse/records"
	"pnyx/worker/account"
	"pnyx/worker/fill"
)

// Options configures a Worker.
type Options struct {
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
	Logger   *slog.Logger
	Metrics  prometheus.Registerer
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

// backupWatch returns what exports when the warehouse was last backed up, until its context ends.
func backupWatch(o Options) func(ctx context.Context) {
	scheduled := telemetry.Gauge(o.Metrics, "pnyx_backup_scheduled",
		"1 where PNYX_BACKUP_SCHEDULED says that backups are made on a schedule, else 0.")
	if o.BackupScheduled {
		scheduled.Set(1)
	}
	// A vector without labels has no value until the first backup.
	last := telemetry.Gauges(o.Metrics, "pnyx_backup_last_success_timestamp_seconds",
		"When the last backup of the warehouse was complete; missing before the first.")
	const backupInterval = 5 * time.Minute // the time between two looks for a new backup
	return func(ctx context.Context) {
		for ctx.Err() == nil {
			at, err := records.LastBackup(ctx, o.Warehouse, records.BackupMade)
			switch {
			case err != nil && ctx.Err() == nil:
				o.Logger.LogAttrs(ctx, slog.LevelWarn, "time of the last backup not read, retrying", slog.Any("error", err))
			case err == nil && !at.IsZero():
				last.WithLabelValues().Set(float64(at.UnixMicro()) / 1e6)
			}
			backoff.Wait(ctx, backupInterval)
		}
	}
}
