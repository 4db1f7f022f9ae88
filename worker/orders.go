package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"pnyx/cache"
	"pnyx/warehouse"
)

const (
	// ordersEvery is how often missing copies are looked for without a hint.
	ordersEvery = 5 * time.Second
	// dropEvery is how often old copies are looked for. One stays for readers that
	// began on it: from one look to the next, and for dropAfter since it was begun.
	dropAfter = time.Minute
	dropEvery = time.Minute
)

// keepOrders builds the ordered copies of large proposals and DAOs whenever
// publication leaves them behind, one at a time, beside it. A failure is logged
// and tried again.
func (w *Worker) keepOrders(ctx context.Context) {
	var dropped time.Time
	var current []warehouse.Order
	for ctx.Err() == nil {
		began := time.Now()
		if err := w.buildOrders(ctx); err != nil && ctx.Err() == nil {
			w.metrics.errors.Inc()
			w.logger.LogAttrs(ctx, slog.LevelError, "build orders", slog.Any("error", err))
			wait(ctx, jittered(longestRetry))
		}
		if time.Since(dropped) > dropEvery {
			dropped = time.Now()
			var err error
			if current, err = w.dropOrders(ctx, current); err != nil && ctx.Err() == nil {
				w.logger.LogAttrs(ctx, slog.LevelWarn, "drop old orders", slog.Any("error", err))
			}
		}
		// Rest as long as the work took: while an import goes on, copies that are out of
		// date again a moment later are not worth the machine.
		wait(ctx, min(time.Since(began), longestRetry))
		timer := time.NewTimer(ordersEvery)
		select {
		case <-ctx.Done():
		case <-w.outdated:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// buildOrders builds every copy that is missing or behind.
func (w *Worker) buildOrders(ctx context.Context) error {
	// While everything is published the machine has better to do, and a copy of what
	// is half published would only be built again.
	if _, err := w.store.Published(ctx); errors.Is(err, cache.ErrMiss) {
		return nil
	}
	orders, err := w.warehouse.StaleOrders(ctx)
	if err != nil {
		return err
	}
	for _, order := range orders {
		if err := w.buildOrder(ctx, order); err != nil {
			return err
		}
	}
	return nil
}

// buildOrder builds a copy, makes it the current one, and moves the mark, so that
// pages are made from it.
func (w *Worker) buildOrder(ctx context.Context, order warehouse.Order) error {
	began := time.Now()
	now, err := w.warehouse.Now(ctx)
	if err != nil {
		return err
	}
	generation := max(uint64(now.UnixMicro()), order.Generation+1)
	if err := w.warehouse.BuildOrder(ctx, order, generation); err != nil {
		return err
	}
	balanced, err := w.warehouse.Balanced(ctx, order, generation)
	if err != nil {
		return err
	}
	if !balanced {
		// Most likely ballots have landed meanwhile; the copy stays behind, and so is
		// built again.
		w.reportUnbalanced(ctx, errUnbalanced, slog.String("dao_id", order.Subject))
		return nil
	}
	order.Generation = generation
	if err := w.warehouse.SwitchOrder(ctx, order); err != nil {
		return err
	}
	marked, err := w.markOrder(ctx, order)
	if err != nil {
		return err
	}
	w.outdate(ctx, marked)
	w.metrics.orders.WithLabelValues(string(order.Kind)).Observe(time.Since(began).Seconds())
	w.logger.LogAttrs(ctx, slog.LevelDebug, "built an order", slog.String("kind", string(order.Kind)),
		slog.String("subject", order.Subject), slog.Uint64("votes", order.Votes), slog.Duration("took", time.Since(began)))
	return nil
}

// markOrder lets pages be made from a copy, and returns what was written for it.
func (w *Worker) markOrder(ctx context.Context, order warehouse.Order) (*cache.Writer, error) {
	kind := cache.BallotPage
	if order.Kind == warehouse.VoterOrder {
		kind = cache.VoterPage
	}
	writer := w.store.NewWriter(order.Revision)
	if err := writer.SetMark(ctx, kind, order.Subject, order.Generation); err != nil {
		return nil, err
	}
	if err := writer.Flush(ctx); err != nil {
		return nil, fmt.Errorf("mark the order of %s: %w", order.Subject, err)
	}
	return writer, nil
}

// dropOrders removes copies that were replaced, but those that were current when it last
// looked, and returns the current ones. All marks are set once more before: one that
// could not be written at its time must not go on naming a copy that is gone.
func (w *Worker) dropOrders(ctx context.Context, before []warehouse.Order) (current []warehouse.Order, err error) {
	now, err := w.warehouse.Now(ctx)
	if err != nil {
		return before, err
	}
	if current, err = w.warehouse.CurrentOrders(ctx); err != nil {
		return before, err
	}
	for _, order := range current {
		if _, err := w.markOrder(ctx, order); err != nil {
			return before, err
		}
	}
	return current, w.warehouse.DropOldOrders(ctx, slices.Concat(before, current), now.Add(-dropAfter))
}
