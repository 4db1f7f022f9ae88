package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/accounts"
)

// pageSize bounds the messages that are read, and the deliveries that are written, together.
const (
	pageSize  = 1000
	writeSize = 10_000
)

// CheckTypes returns an error if a pattern of types matches no type of message.
func CheckTypes(patterns []string) error {
	known := slices.Concat(
		warehouse.Values(rules.EventTypeNames(), func(name string) string { return "event." + name }),
		warehouse.Values(rules.SignalTypeNames(), func(name string) string { return "signal." + name }))
	for _, pattern := range patterns {
		if pattern != "*" && pattern != "event.*" && pattern != "signal.*" && !slices.Contains(known, pattern) {
			return fmt.Errorf("type %q: want *, event.*, signal.* or one of %v", pattern, known)
		}
	}
	return nil
}

// queueFor queues messages of the feed for endpoints, each as row says, and returns by endpoint how many.
func queueFor(
	ctx context.Context, w *warehouse.Warehouse, q accounts.MessageQuery, endpoints []accounts.Webhook, row accounts.Delivery,
) (map[string]int, error) {
	queued, q, least := map[string]int{}, q, row.Version
	q.Limit = pageSize
	for {
		messages, err := accounts.NewAccounts(w).Messages(ctx, q)
		if err != nil {
			return queued, err
		}
		var rows []accounts.Delivery
		for _, e := range endpoints {
			for _, m := range messages {
				if e.Wants(m.Type, m.DAOID) {
					row.EndpointID, row.MessageID, row.MessageType, row.Subject, row.HappenedAt = e.ID, m.ID, m.Type, m.Subject, m.HappenedAt
					row.Version = max(least, m.Version)
					rows = append(rows, row)
					queued[e.ID]++
				}
			}
			if len(rows) >= writeSize {
				if err := accounts.NewAccounts(w).WriteDeliveries(ctx, rows); err != nil {
					return queued, err
				}
				rows = rows[:0]
			}
		}
		if err := accounts.NewAccounts(w).WriteDeliveries(ctx, rows); err != nil || len(messages) < pageSize {
			return queued, err
		}
		q.Last = messages[len(messages)-1]
	}
}

// waiting is the state of a message that is queued now. A state that is there already stays.
func waiting(now time.Time) accounts.Delivery {
	return accounts.Delivery{State: accounts.MessageWaiting, QueuedAt: now, DueAt: now}
}

func allSince(ctx context.Context, w *warehouse.Warehouse, since time.Time) (accounts.MessageQuery, time.Time, error) {
	now, err := w.Now(ctx)
	if oldest := now.Add(-accounts.MaxMessageAge); since.Before(oldest) {
		since = oldest
	}
	return accounts.MessageQuery{Through: now.UnixMicro(), Since: since}, now, err
}

// PassOver makes an endpoint that is about to be added, or turned on, receive nothing that is in the feed.
func PassOver(ctx context.Context, w *warehouse.Warehouse, e accounts.Webhook) error {
	if err := accounts.NewAccounts(w).DropDeliveries(ctx, e.ID); err != nil {
		return err
	}
	return queueLacking(ctx, w, e, func(now time.Time) accounts.Delivery {
		return accounts.Delivery{State: accounts.MessageBefore, QueuedAt: now, DueAt: now, Version: 1}
	})
}

// queueLacking queues all that the feed shows and an endpoint's queue lacks, as row says at the warehouse's time.
func queueLacking(ctx context.Context, w *warehouse.Warehouse, e accounts.Webhook, row func(now time.Time) accounts.Delivery) error {
	q, now, err := allSince(ctx, w, time.Time{})
	if err != nil {
		return err
	}
	q.UnqueuedFor = e.ID
	_, err = queueFor(ctx, w, q, []accounts.Webhook{e}, row(now))
	return err
}

// Replay queues messages for an endpoint again, one by its id or all since a time, and returns how many there are.
func Replay(ctx context.Context, w *warehouse.Warehouse, e accounts.Webhook, since time.Time, id string) (int, error) {
	q, now, err := allSince(ctx, w, since)
	if err != nil {
		return 0, err
	}
	q.ID = id
	row := waiting(now)
	if row.Version, err = accounts.NewAccounts(w).NextDelivery(ctx, e.ID); err != nil {
		return 0, err
	}
	queued, err := queueFor(ctx, w, q, []accounts.Webhook{e}, row)
	return queued[e.ID], err
}
