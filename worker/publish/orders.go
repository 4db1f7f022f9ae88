package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"pnyx/cache"
	"pnyx/warehouse"
	"pnyx/worker/backoff"
)

const (
	// ordersEvery is how often missing copies are looked for without a hint.
	ordersEvery = 5 * time.Second
	// dropEvery is how often old copies are looked for. One stays for readers that
	// began on it: from one look to the next, and for dropAfter since it was begun.
	dropAfter = time.Minute
	dropEvery = time.Minute
)

// MaintainSortedCopies builds the ordered copies of large proposals and DAOs whenever
// publication leaves them behind, one at a time, beside it. A failure is logged
// and tried again.
func (p *Publisher) MaintainSortedCopies(ctx context.Context) {
	var dropped time.Time
	var current []warehouse.SortedCopy
	for ctx.Err() == nil {
		began := time.Now()
		if err := p.buildOrders(ctx); err != nil && ctx.Err() == nil {
			p.errors.Inc()
			p.logger.LogAttrs(ctx, slog.LevelError, "build orders", slog.Any("error", err))
			backoff.Wait(ctx, backoff.Jitter(backoff.Max))
		}
		if time.Since(dropped) > dropEvery {
			dropped = time.Now()
			var err error
			if current, err = p.dropOrders(ctx, current); err != nil && ctx.Err() == nil {
				p.logger.LogAttrs(ctx, slog.LevelWarn, "drop old orders", slog.Any("error", err))
			}
		}
		// Rest as long as the work took: while an import goes on, copies that are out of
		// date again a moment later are not worth the machine.
		backoff.Wait(ctx, min(time.Since(began), backoff.Max))
		timer := time.NewTimer(ordersEvery)
		select {
		case <-ctx.Done():
		case <-p.copiesPending:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// buildOrders builds every copy that is missing or behind.
func (p *Publisher) buildOrders(ctx context.Context) error {
	// While everything is published the machine has better to do, and a copy of what
	// is half published would only be built again.
	if _, err := p.store.PublicationState(ctx); errors.Is(err, cache.ErrMiss) {
		return nil
	}
	orders, err := p.warehouse.StaleSortedCopies(ctx)
	if err != nil {
		return err
	}
	for _, order := range orders {
		if err := p.buildOrder(ctx, order); err != nil {
			return err
		}
	}
	return nil
}

// buildOrder builds a copy, makes it the current one, and moves the mark, so that
// pages are made from it.
func (p *Publisher) buildOrder(ctx context.Context, order warehouse.SortedCopy) error {
	began := time.Now()
	now, err := p.warehouse.Now(ctx)
	if err != nil {
		return err
	}
	generation := max(uint64(now.UnixMicro()), order.Generation+1)
	if err := p.warehouse.BuildSortedCopy(ctx, order, generation); err != nil {
		return err
	}
	balanced, err := p.warehouse.MatchesPublished(ctx, order, generation)
	if err != nil {
		return err
	}
	if !balanced {
		// Most likely ballots have landed meanwhile; the copy stays behind, and so is
		// built again.
		p.reportUnbalanced(ctx, errUnbalanced, slog.String("dao_id", order.Subject))
		return nil
	}
	order.Generation = generation
	if err := p.warehouse.SwitchSortedCopy(ctx, order); err != nil {
		return err
	}
	marked, err := p.markOrder(ctx, order)
	if err != nil {
		return err
	}
	p.invalidate(ctx, marked)
	p.metrics.orders.WithLabelValues(string(order.Kind)).Observe(time.Since(began).Seconds())
	p.logger.LogAttrs(ctx, slog.LevelDebug, "built an order", slog.String("kind", string(order.Kind)),
		slog.String("subject", order.Subject), slog.Uint64("votes", order.Votes), slog.Duration("took", time.Since(began)))
	return nil
}

// markOrder lets pages be made from a copy, and returns what was written for it.
func (p *Publisher) markOrder(ctx context.Context, order warehouse.SortedCopy) (*cache.Writer, error) {
	kind := cache.BallotPage
	if order.Kind == warehouse.VoterCopy {
		kind = cache.VoterPage
	}
	writer := p.store.NewWriter(order.Revision)
	if err := writer.SetVersion(ctx, kind, order.Subject, order.Generation); err != nil {
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
func (p *Publisher) dropOrders(ctx context.Context, before []warehouse.SortedCopy) (current []warehouse.SortedCopy, err error) {
	now, err := p.warehouse.Now(ctx)
	if err != nil {
		return before, err
	}
	if current, err = p.warehouse.CurrentSortedCopies(ctx); err != nil {
		return before, err
	}
	for _, order := range current {
		if _, err := p.markOrder(ctx, order); err != nil {
			return before, err
		}
	}
	return current, p.warehouse.DropOldSortedCopies(ctx, slices.Concat(before, current), now.Add(-dropAfter))
}
