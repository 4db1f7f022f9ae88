package account

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/governance"
	"pnyx/ratelimit"
	stored "pnyx/warehouse/accounts"
)

const (
	usageBatchSize = 5000
	// maxUsageBatches bounds what one round moves: tokens are not published meanwhile.
	maxUsageBatches = 20
)

// moveUsage moves counters to the warehouse, and publishes usage. Where they are too many for one round, the next
// one continues: nodes write counters of busy tokens again at once, and starting over would leave others where they
// are.
func (a *Accounts) moveUsage(ctx context.Context) error {
	for range maxUsageBatches {
		counters, next, err := a.store.Counters(ctx, a.usageCursor, usageBatchSize)
		if err != nil {
			return err
		}
		if err := a.moveCounters(ctx, counters); err != nil {
			return err
		}
		if a.usageCursor = next; next == 0 {
			break
		}
	}
	pending, err := a.store.PendingCounters(ctx)
	if err != nil {
		return err
	}
	a.pending.Set(float64(pending))
	return nil
}

// moveCounters deletes counters last, and moving them again changes nothing: a worker may die in between.
func (a *Accounts) moveCounters(ctx context.Context, counters []accounts.UsageCounter) error {
	if len(counters) == 0 {
		return nil
	}
	usage, tokenIDs := a.decode(ctx, counters)
	if err := stored.NewAccounts(a.Warehouse).PutUsage(ctx, usage); err != nil {
		return err
	}
	if len(tokenIDs) > 0 {
		now, err := a.Warehouse.Now(ctx)
		if err != nil {
			return err
		}
		if err := a.publishUsage(ctx, now, tokenIDs); err != nil {
			return err
		}
	}
	if err := a.store.DeleteCounters(ctx, counters); err != nil {
		return err
	}
	a.moved.Add(float64(len(counters)))
	return nil
}

// decode drops counters that do not decode, which would block the queue, and returns the tokens of the others.
func (a *Accounts) decode(ctx context.Context, counters []accounts.UsageCounter) (usage []stored.Usage, tokenIDs []string) {
	// Callers without a token have the empty id.
	seen := map[string]bool{"": true}
	for _, counter := range counters {
		u, err := access.DecodeUsage(counter.Value)
		day, dayErr := time.Parse(time.DateOnly, u.Day)
		if err := errors.Join(err, dayErr); err != nil {
			a.errors.Inc()
			a.Logger.LogAttrs(ctx, slog.LevelError, "usage counter does not decode, dropped",
				slog.Any("error", err))
			continue
		}
		usage = append(usage, stored.Usage{TokenID: u.TokenID, Day: day, Route: u.Route, Session: u.Session, UsageCounts: u.UsageCounts})
		if !seen[u.TokenID] {
			seen[u.TokenID] = true
			tokenIDs = append(tokenIDs, u.TokenID)
		}
	}
	return usage, tokenIDs
}

// publishUsage publishes the month's usage of some tokens, of all if none are named. It raises their quota
// counters to it, and never lowers one: API nodes may have counted more since.
func (a *Accounts) publishUsage(ctx context.Context, now time.Time, tokenIDs []string) error {
	month := ratelimit.MonthOf(now)
	rows, err := stored.NewAccounts(a.Warehouse).UsageBetween(ctx, month.Begin, month.End().AddDate(0, 0, -1), tokenIDs)
	if err != nil {
		return err
	}
	used, views := map[string]int64{}, map[string]*access.MonthUsage{}
	for _, u := range rows {
		// Callers without a token have no quota by the month, and no usage to read.
		if u.TokenID == "" {
			continue
		}
		if views[u.TokenID] == nil {
			views[u.TokenID] = &access.MonthUsage{Month: month.String()}
		}
		used[u.TokenID] += int64(u.Charged) //nolint:gosec // a count
		day := access.DayUsage{Day: u.Day.Format(time.DateOnly), Route: u.Route, UsageCounts: u.UsageCounts}
		views[u.TokenID].Days = append(views[u.TokenID].Days, day)
	}
	if err := a.store.RaiseQuotas(ctx, month.String(), used); err != nil {
		return err
	}
	writer := a.Store.NewWriter(uint64(now.UnixMicro()))
	for tokenID, usage := range views {
		head := cache.View{DataAsOf: governance.TimestampOf(now), Readiness: governance.Ready}
		writer.SetPayload(ctx, cache.UsageKey(tokenID), head, usage)
	}
	return writer.Flush(ctx)
}
