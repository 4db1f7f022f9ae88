package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/telemetry"
	"pnyx/warehouse"
	"pnyx/worker/changelog"
	"pnyx/worker/feed"
	"pnyx/worker/publish"
	"pnyx/worker/webhook"
)

const releaseTimeout = time.Second

// Leader competes for the lease, with which it publishes, maintains sorted copies, and derives and delivers the feed.
type Leader struct {
	Options
	lease     *cache.Lease
	leading   prometheus.Gauge
	errors    prometheus.Counter
	publisher *publish.Publisher
	feed      *feed.Builder
	webhooks  *webhook.Deliverer
}

// NewLeader returns a Leader that does nothing until Run. It ignores the options for pages and accounts.
func NewLeader(o Options) *Leader {
	l := &Leader{
		Options: o, lease: o.Store.NewLease(o.LeaseTTL),
		leading: telemetry.Gauge(o.Metrics, "pnyx_worker_leading", "1 while this worker holds the lease."),
		errors:  telemetry.Counter(o.Metrics, "pnyx_publish_errors_total", "Publications that were interrupted by an error."),
	}
	l.webhooks = webhook.New(webhook.Options{
		Warehouse: o.Warehouse, Store: o.Store, Sender: webhook.NewSender(o.PrivateReceivers), V2LaunchedAt: o.V2LaunchedAt, Now: time.Now,
		Leads: l.lease.IsCurrent, Logger: o.Logger, Metrics: o.Metrics,
	})
	changes := changelog.New(changelog.Options{
		Warehouse: o.Warehouse, Store: o.Store, Format: fmt.Sprint(publish.TopicRulesVersion), OnChanges: newChangeMetrics(o.Metrics),
	})
	l.feed = feed.New(feed.Options{
		Warehouse: o.Warehouse, Store: o.Store, Invalidate: l.invalidate,
		AwaitFullPublication: func(ctx context.Context) { l.publisher.AwaitFullPublication(ctx) },
		Changes:              changes, OnShow: l.webhooks.Wake, Logger: o.Logger, Errors: l.errors,
	})
	l.publisher = publish.New(publish.Options{
		Warehouse: o.Warehouse, Store: o.Store, Lease: l.lease, Interval: o.PublishInterval,
		Invalidate: l.invalidate, OnPublish: l.feed.Wake, Changes: changes,
		Progress: o.Progress, Logger: o.Logger, Metrics: o.Metrics, Errors: l.errors, Tracer: o.Tracer,
	})
	return l
}

func newChangeMetrics(registerer prometheus.Registerer) func(added int, length int64) {
	rows := telemetry.Counter(registerer, "pnyx_changes_rows_total", "Rows added to the stream of changes.")
	kept := telemetry.Gauge(registerer, "pnyx_changes_length", "Rows in the stream of changes when this worker last added some.")
	return func(added int, length int64) {
		rows.Add(float64(added))
		kept.Set(float64(length))
	}
}

// Run leads whenever it can, until ctx ends. Errors of ClickHouse and Redis are logged and retried.
func (l *Leader) Run(ctx context.Context) {
	pause := l.PublishInterval
	for ctx.Err() == nil {
		began := time.Now()
		err := l.lead(ctx)
		if time.Since(began) > backoff.Max {
			pause = l.PublishInterval // the errors before are long over
		}
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, cache.ErrNotLeader), errors.Is(err, publish.ErrFailedOver):
			pause = l.PublishInterval
		default:
			l.errors.Inc()
			l.Logger.LogAttrs(ctx, slog.LevelError, "publication interrupted", slog.Any("error", err))
			pause = backoff.Next(pause)
		}
		backoff.Wait(ctx, backoff.Jitter(pause))
	}
}

// lead works for as long as the lease is held, and returns why that ended: ErrNotLeader if another worker leads.
func (l *Leader) lead(ctx context.Context) error {
	if err := l.lease.Acquire(ctx); err != nil {
		return err
	}
	l.leading.Set(1)
	defer l.leading.Set(0)
	ctx, cancel := context.WithCancelCause(warehouse.Yielding(ctx))
	var concurrent sync.WaitGroup
	concurrent.Go(func() { cancel(l.lease.Hold(ctx)) })
	concurrent.Go(func() { l.Store.SubscribeCommitted(ctx, l.publisher.Wake) })
	concurrent.Go(func() { l.publisher.MaintainSortedCopies(ctx) })
	concurrent.Go(func() { l.publisher.Recount(ctx) })
	concurrent.Go(func() { l.feed.Run(ctx) })
	concurrent.Go(func() { l.webhooks.Run(ctx) })
	concurrent.Go(func() { l.deletePreviousFormat(ctx) })
	err := l.publisher.Run(ctx)
	cancel(err)
	concurrent.Wait()
	// Released even at shutdown, so that the next worker need not wait for the lease to expire.
	release, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer stop()
	return errors.Join(context.Cause(ctx), l.lease.Release(release))
}

// Settle leads until all is published and in the feed, where no worker runs. lagging are the DAOs that keep
// previous numbers, because their records contradict each other. What is cut off is completed by the next worker,
// or call.
func (l *Leader) Settle(ctx context.Context) (lagging []string, err error) {
	const settleTerms = 3 // how often Settle leads: a busy machine may renew a lease too late
	for range settleTerms {
		lagging, err = l.settleTerm(ctx)
		if !errors.Is(err, cache.ErrNotLeader) && !errors.Is(err, cache.ErrUnavailable) || ctx.Err() != nil {
			break
		}
	}
	return lagging, err
}

// settleTerm is one term of Settle. The error is why the lease was lost, if it was.
func (l *Leader) settleTerm(ctx context.Context) (lagging []string, err error) {
	// The lease of a worker that was killed lasts until it expires.
	patient, stop := context.WithTimeout(ctx, 2*l.LeaseTTL)
	defer stop()
	for {
		if err = l.lease.Acquire(patient); !errors.Is(err, cache.ErrNotLeader) || patient.Err() != nil {
			break
		}
		backoff.Wait(patient, l.PublishInterval)
	}
	if err != nil {
		return nil, err
	}
	held, cancel := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { cancel(l.lease.Hold(held)) })
	if lagging, err = l.publisher.Settle(held); err == nil {
		err = l.feed.Settle(held)
	}
	if err != nil && held.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("the lease is lost: %w", context.Cause(held))
	}
	cancel(err)
	renewing.Wait()
	release, stopRelease := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer stopRelease()
	return lagging, errors.Join(err, l.lease.Release(release))
}

// deletePreviousFormat deletes values of an earlier cache format once API nodes had the time to be replaced.
func (l *Leader) deletePreviousFormat(ctx context.Context) {
	const sweepInterval = time.Minute // the time between two checks whether values of an earlier cache format are to be deleted
	for ctx.Err() == nil {
		if err := l.Store.DeletePreviousFormat(ctx); err != nil && ctx.Err() == nil {
			l.Logger.LogAttrs(ctx, slog.LevelWarn, "values of the previous cache format not deleted, retrying",
				slog.Any("error", err))
		}
		backoff.Wait(ctx, sweepInterval)
	}
}

// invalidate tells API nodes, and caches in front of them, what was written. A lost message only
// delays them: nodes poll as well, and no cache entry lives long.
func (l *Leader) invalidate(ctx context.Context, written *cache.Writer) {
	changed := written.Changed()
	if err := l.Store.Notify(ctx, changed); err != nil && ctx.Err() == nil {
		l.Logger.LogAttrs(ctx, slog.LevelWarn,
			"API nodes not notified of a publication, they poll for it", slog.Any("error", err))
	}
	if l.Purge != nil {
		l.Purge(cache.PurgedTags(changed))
	}
}
