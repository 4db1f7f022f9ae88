package cmd

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"pnyx/backoff"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/records"
)

// logBackfills logs how far the past is read while it is read, until ctx ends.
func logBackfills(ctx context.Context, opened *warehouse.Warehouse, logger *slog.Logger) {
	const logInterval, checkInterval = 10 * time.Second, time.Minute
	next := logInterval
	for backoff.Wait(ctx, next); ctx.Err() == nil; backoff.Wait(ctx, next) {
		next = checkInterval
		cursors, err := records.FollowCursors(ctx, opened, "")
		if err != nil {
			continue // the follower logs it too
		}
		for upstream, p := range backfills(cursors) {
			next = logInterval
			logger.LogAttrs(ctx, slog.LevelInfo, "reading the past of an upstream", slog.String("upstream", upstream),
				slog.Int("sources", p.sources), slog.String("done", p.String()))
		}
	}
}

type backfill struct {
	sources     int
	done, total uint64
}

// String returns the part that is done, in percent.
func (b backfill) String() string {
	if b.total == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(min(b.done, b.total))/float64(b.total))
}

func backfills(cursors []records.FollowCursor) map[string]backfill {
	all := map[string]backfill{}
	for _, c := range cursors {
		if c.State == governance.SourceBackfilling {
			b := all[c.Upstream]
			all[c.Upstream] = backfill{b.sources + 1, b.done + c.Done, b.total + c.Total}
		}
	}
	return all
}
