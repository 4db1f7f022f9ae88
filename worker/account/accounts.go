// Package account publishes partner tokens to API nodes, and moves usage and payments from Redis to the warehouse.
// Counters and payments are deleted from Redis only after they are stored, and storing them again changes nothing,
// so that any number of workers can do this at once, and one that dies loses nothing.
package account

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/telemetry"
	"pnyx/warehouse"
)

const (
	// tokenInterval is the time between two checks for changed tokens. A change of a command that knows no Redis is
	// found with the pulse, so that a revocation reaches every node within three seconds.
	tokenInterval = 500 * time.Millisecond
	// compareInterval is the time between two comparisons of all tokens while none was written.
	compareInterval = 30 * time.Second
	// usageInterval is the time between two moves of usage: about what a flush of Redis loses.
	usageInterval   = time.Second
	shutdownTimeout = 2 * time.Second
)

// Options configures Accounts and a Ledger.
type Options struct {
	Warehouse *warehouse.Warehouse
	Store     *cache.Store
	Logger    *slog.Logger
	Metrics   prometheus.Registerer
}

// Accounts publishes tokens, and stores the usage that API nodes count. Any number of workers may run it at once.
type Accounts struct {
	Options
	// store holds tokens, quotas and counters, which are never evicted; Options.Store the usage that callers read.
	store *accounts.Store
	// written counts entries of the ledger, repetitions included.
	moved, errors, written prometheus.Counter
	pending                prometheus.Gauge
	// usageCursor is where the next round continues to move counters; 0 for the first one.
	usageCursor uint64
	// tokens are the published ones as this worker last read them, at revision.
	tokens   []byte
	revision uint64
	// compared is when tokens were read, and pulse is from before that.
	compared time.Time
	pulse    warehouse.Pulse
}

// New returns Accounts that do nothing until Run.
func New(o Options) *Accounts {
	return &Accounts{
		Options: o, store: accounts.New(o.Store),
		moved: telemetry.Counter(o.Metrics, "pnyx_usage_counts_total", "Usage counters moved to the warehouse."),
		pending: telemetry.Gauge(o.Metrics, "pnyx_usage_pending_counts",
			"Usage counters in Redis that were not in the warehouse after the last move."),
		errors: telemetry.Counter(o.Metrics, "pnyx_accounts_errors_total",
			"Failed attempts to publish tokens or to move usage to the warehouse."),
		written: telemetry.Counter(o.Metrics, "pnyx_ledger_entries_total", "States of payments written to the ledger."),
	}
}

// Run publishes tokens, and moves usage and payments, until ctx ends. Errors are logged and retried. Redis is asked
// for all three in one round trip.
func (a *Accounts) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	found, payments := make(chan accounts.Pending, 1), make(chan struct{}, 1)
	running.Go(func() { a.watch(ctx, found, payments) })
	running.Go(func() { a.runLedger(ctx, payments) })
	moved, pause := time.Now(), tokenInterval
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case pending := <-found:
			err := a.update(ctx, pending, &moved)
			if err == nil || ctx.Err() != nil {
				pause = tokenInterval
				continue
			}
			a.errors.Inc()
			pause = backoff.Next(pause)
			backoff.Wait(ctx, backoff.Jitter(pause))
		}
	}
	// API nodes of this process have sent their last counters.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := a.moveUsage(last); err != nil {
		a.Logger.LogAttrs(last, slog.LevelWarn,
			"usage not written to ClickHouse at shutdown, left for another worker", slog.Any("error", err))
	}
}

// watch passes on what there is to do: found has room for what was read last, payments for one signal.
func (a *Accounts) watch(ctx context.Context, found chan accounts.Pending, payments chan<- struct{}) {
	for ctx.Err() == nil {
		pause := tokenInterval
		pending, err := a.store.Pending(ctx, time.Now())
		switch {
		case err == nil:
			select {
			case <-found:
			default:
			}
			found <- pending
			if pending.Payments {
				backoff.Wake(payments)
			}
		case ctx.Err() == nil:
			a.errors.Inc()
			a.Logger.LogAttrs(ctx, slog.LevelWarn, "tokens, usage and payments not checked in Redis, retrying",
				slog.Any("error", err))
			pause = backoff.Jitter(2 * tokenInterval)
		}
		backoff.Wait(ctx, pause)
	}
}

func (a *Accounts) update(ctx context.Context, pending accounts.Pending, moved *time.Time) error {
	err := a.publishTokens(ctx, pending)
	if err != nil {
		if ctx.Err() == nil {
			a.Logger.LogAttrs(ctx, slog.LevelWarn, "tokens not published, retrying", slog.Any("error", err))
		}
		return err
	}
	if pending.UsageCounters == 0 {
		a.pending.Set(0)
		return nil
	}
	now := time.Now()
	if now.Sub(*moved) < usageInterval {
		return nil
	}
	*moved = now
	err = a.moveUsage(ctx)
	if err != nil && ctx.Err() == nil {
		a.Logger.LogAttrs(ctx, slog.LevelWarn, "usage not written to ClickHouse, retrying", slog.Any("error", err))
	}
	return err
}
