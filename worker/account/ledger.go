package account

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/backoff"
	"pnyx/cache/accounts"
	"pnyx/governance"
	"pnyx/warehouse"
	stored "pnyx/warehouse/accounts"
)

const (
	ledgerInterval   = time.Second
	paymentBatchSize = 1000
	// restoreTTL is how long after its expiry a payment is restored: as long as Redis would have remembered it.
	restoreTTL = 10 * time.Minute
)

// ledger writes every state of every payment, and restores payments to a Redis that has lost them.
type ledger struct {
	warehouse *warehouse.Warehouse
	store     *accounts.Store
	logger    *slog.Logger
	written   prometheus.Counter
}

// run moves payments until ctx ends, whenever one is due. Errors are logged and retried.
func (l *ledger) run(ctx context.Context, due <-chan struct{}) {
	pause := ledgerInterval
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-due:
		}
		err := l.update(ctx)
		switch {
		case err == nil:
			pause = ledgerInterval
		case ctx.Err() == nil:
			l.logger.LogAttrs(ctx, slog.LevelError, "payments not written to ClickHouse, retrying",
				slog.Any("error", err))
			pause = backoff.Next(pause)
		}
		backoff.Wait(ctx, backoff.Jitter(pause))
	}
	// API nodes of this process have queued their last payments.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := l.moveQueue(last); err != nil {
		l.logger.LogAttrs(last, slog.LevelWarn,
			"payments not written to ClickHouse at shutdown, left for another worker",
			slog.Any("error", err))
	}
}

// update writes queued payments, deletes expired ones, and gives Redis and ledger what either has lost.
func (l *ledger) update(ctx context.Context) error {
	if err := l.moveQueue(ctx); err != nil {
		return err
	}
	if err := l.store.DeleteExpiredPayments(ctx, time.Now(), paymentBatchSize); err != nil {
		return err
	}
	restored, err := l.store.PaymentsRestored(ctx)
	if err != nil || restored {
		return err
	}
	// The ledger may lack payments as well, where the warehouse was restored from a backup.
	held, err := l.store.SubmittedPayments(ctx)
	if err != nil {
		return err
	}
	if err := stored.NewAccounts(l.warehouse).WritePayments(ctx, held); err != nil {
		return err
	}
	payments, err := stored.NewAccounts(l.warehouse).Payments(ctx, stored.PaymentFilter{
		ValidAfter: time.Now().Add(-restoreTTL),
	})
	if err != nil {
		return err
	}
	// A refused payment may be presented again, so Redis need not know it.
	payments = slices.DeleteFunc(payments, func(p governance.Payment) bool {
		return p.State == governance.PaymentRefused
	})
	return l.store.RestorePayments(ctx, payments)
}

// moveQueue writes queued payments, which leave the queue afterwards: writing one again changes nothing.
func (l *ledger) moveQueue(ctx context.Context) error {
	for {
		entries, err := l.store.QueuedPayments(ctx, paymentBatchSize)
		if err != nil || len(entries) == 0 {
			return err
		}
		var payments []governance.Payment
		for _, entry := range entries {
			if entry.Payment.ID == "" {
				l.logger.LogAttrs(ctx, slog.LevelError, "ledger entry does not decode, dropped",
					slog.String("entry", entry.ID))
				continue
			}
			payments = append(payments, entry.Payment)
		}
		if err := stored.NewAccounts(l.warehouse).WritePayments(ctx, payments); err != nil {
			return err
		}
		if err := l.store.DequeuePayments(ctx, entries); err != nil {
			return err
		}
		l.written.Add(float64(len(payments)))
	}
}
