package fill

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"pnyx/backoff"
	"pnyx/cache"
)

// heartbeats keep the requests of a set from being enqueued again while they are in work.
type heartbeats struct {
	*Filler
	// fills are the requests that are in work.
	fills []cache.Fill
	// next is when the next heartbeat is due.
	next time.Time
	stop context.CancelFunc
	sent sync.WaitGroup
}

// end ends the heartbeats of requests. None is sent afterwards: it would keep the page from being enqueued again.
func (h *heartbeats) end(ctx context.Context, completed []cache.CompletedFill) {
	h.stop()
	h.sent.Wait()
	done := map[cache.Key]bool{}
	for _, c := range completed {
		done[c.Page.Key()] = true
	}
	h.fills = slices.DeleteFunc(slices.Clone(h.fills), func(f cache.Fill) bool { return done[f.Page.Key()] })
	if len(h.fills) > 0 {
		h.start(ctx)
	}
}

// start sends heartbeats until end, or the end of ctx.
func (h *heartbeats) start(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	h.stop = stop
	h.sent.Go(func() {
		for {
			backoff.Wait(ctx, time.Until(h.next))
			if ctx.Err() != nil {
				return
			}
			h.next = time.Now().Add(heartbeatInterval)
			if err := h.Store.Fills().Heartbeat(ctx, h.fills); err != nil && ctx.Err() == nil {
				h.Logger.LogAttrs(ctx, slog.LevelWarn, "heartbeats of fills not sent, retrying", slog.Any("error", err))
			}
		}
	})
}
