package account

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"pnyx/backoff"
	"pnyx/governance"
	stored "pnyx/warehouse/accounts"
)

const (
	ledgerInterval   = time.Second
	paymentBatchSize = 1000
	// restoreTTL is how long after its expiry a payment is restored: as long as Redis would have remembered it.
	restoreTTL = 10 * time.Minute
)

// runLedger writes every state of payments to the warehouse, whenever one is due, and restores payments to a Redis
// that has lost them, until ctx ends. Errors are logged and retried.
func (a *Accounts) runLedger(ctx context.Context, due <-chan struct{}) {
	pause := ledgerInterval
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-due:
		}
		err := a.updateLedger(ctx)
		switch {
		case err == nil:
			pause = ledgerInterval
		case ctx.Err() == nil:
			a.Logger.LogAttrs(ctx, slog.LevelError, "payments not written to ClickHouse, retrying",
				slog.Any("error", err))
			pause = backoff.Next(pause)
		}
		backoff.Wait(ctx, backoff.Jitter(pause))
	}
	// API nodes of this process have queued their last payments.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := a.moveQueue(last); err != nil {
		a.Logger.LogAttrs(last, slog.LevelWarn,
			"payments not written to ClickHouse at shutdown, left for another worker",
			slog.Any("error", err))
	}
}

// updateLedger writes queued payments, deletes expired ones from Redis, and gives Redis and ledger what either has
// lost. This comes last, so that it finds what was queued.
func (a *Accounts) updateLedger(ctx context.Context) error {
	if err := a.moveQueue(ctx); err != nil {
		return err
	}
	if err := a.store.DeleteExpiredPayments(ctx, time.Now(), paymentBatchSize); err != nil {
		return err
	}
	restored, err := a.store.PaymentsRestored(ctx)
	if err != nil || restored {
		return err
	}
	// The ledger may lack payments as well, where the warehouse was restored from a backup.
	held, err := a.store.SubmittedPayments(ctx)
	if err != nil {
		return err
	}
	if err := stored.NewAccounts(a.Warehouse).WritePayments(ctx, held); err != nil {
		return err
	}
	payments, err := stored.NewAccounts(a.Warehouse).Payments(ctx, stored.PaymentFilter{
		ValidAfter: time.Now().Add(-restoreTTL),
	})
	if err != nil {
		return err
	}
	// A refused payment may be presented again, so Redis need not know it.
	payments = slices.DeleteFunc(payments, func(p governance.Payment) bool {
		return p.State == governance.PaymentRefused
	})
	return a.store.RestorePayments(ctx, payments)
}

// moveQueue writes queued payments, which leave the queue afterwards: writing one again changes nothing.
func (a *Accounts) moveQueue(ctx context.Context) error {
	for {
		entries, err := a.store.QueuedPayments(ctx, paymentBatchSize)
		if err != nil || len(entries) == 0 {
			return err
		}
		var payments []governance.Payment
		for _, entry := range entries {
			if entry.Payment.ID == "" {
				a.Logger.LogAttrs(ctx, slog.LevelError, "ledger entry does not decode, dropped",
					slog.String("entry", entry.ID))
				continue
			}
			payments = append(payments, entry.Payment)
		}
		if err := stored.NewAccounts(a.Warehouse).WritePayments(ctx, payments); err != nil {
			return err
		}
		if err := a.store.DequeuePayments(ctx, entries); err != nil {
			return err
		}
		a.written.Add(float64(len(payments)))
	}
}
