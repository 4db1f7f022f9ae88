package account

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/worker/backoff"
)

const (
	// ledgerEvery is how often the queue of payments is emptied into the ledger.
	ledgerEvery = 500 * time.Millisecond
	// ledgerBatch is how many are written at once.
	ledgerBatch = 1000
	// restoredFor is how long a payment is restored after it has run out: as long as
	// Redis would have remembered it.
	restoredFor = 10 * time.Minute
)

// Ledger writes what became of payments to the warehouse, and brings them back to
// a Redis that has lost them. Any number of them may run.
type Ledger struct {
	warehouse *warehouse.Warehouse
	store     *cache.Store
	logger    *slog.Logger
	written   prometheus.Counter
}

// NewLedger returns a ledger that does nothing until Run.
func NewLedger(o Options) *Ledger {
	l := &Ledger{
		warehouse: o.Warehouse, store: o.Store, logger: o.Logger,
		written: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_ledger_entries_total", Help: "States of payments that were written to the ledger.",
		}),
	}
	o.Metrics.MustRegister(l.written)
	return l
}

// Run keeps the books until ctx ends. What is queued by then is written.
func (l *Ledger) Run(ctx context.Context) {
	pause := ledgerEvery
	for ctx.Err() == nil {
		err := l.keep(ctx)
		switch {
		case err == nil:
			pause = ledgerEvery
		case ctx.Err() == nil:
			l.logger.LogAttrs(ctx, slog.LevelError, "keep the ledger of payments", slog.Any("error", err))
			pause = backoff.Next(pause)
		}
		backoff.Wait(ctx, backoff.Jitter(pause))
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := l.drain(last); err != nil {
		l.logger.LogAttrs(last, slog.LevelWarn, "write the last payments to the ledger", slog.Any("error", err))
	}
}

// keep writes what is queued, forgets what has run out, and restores what Redis has lost. Restoring comes
// last, so that it finds what was queued.
func (l *Ledger) keep(ctx context.Context) error {
	if err := l.drain(ctx); err != nil {
		return err
	}
	if err := l.store.DeleteExpiredPayments(ctx, time.Now(), ledgerBatch); err != nil {
		return err
	}
	restored, err := l.store.PaymentsRestored(ctx)
	if err != nil || restored {
		return err
	}
	payments, err := l.warehouse.Payments(ctx, warehouse.PaymentFilter{ValidAfter: time.Now().Add(-restoredFor)})
	if err != nil {
		return err
	}
	remembered := payments[:0]
	for _, p := range payments {
		if p.State != governance.PaymentRefused { // those may be used again
			remembered = append(remembered, p)
		}
	}
	return l.store.RestorePayments(ctx, remembered)
}

// drain writes everything that is queued.
func (l *Ledger) drain(ctx context.Context) error {
	for {
		entries, err := l.store.QueuedPayments(ctx, ledgerBatch)
		if err != nil || len(entries) == 0 {
			return err
		}
		var payments []governance.Payment
		for _, entry := range entries {
			if entry.Payment.ID == "" {
				l.logger.LogAttrs(ctx, slog.LevelError, "an entry of the ledger's queue does not decode", slog.String("entry", entry.ID))
				continue
			}
			payments = append(payments, entry.Payment)
		}
		if err := l.warehouse.WritePayments(ctx, payments); err != nil {
			return err
		}
		if err := l.store.DequeuePayments(ctx, entries); err != nil {
			return err
		}
		l.written.Add(float64(len(payments)))
	}
}
