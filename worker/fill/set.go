package fill

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/telemetry"
	"pnyx/warehouse"
)

// set is requests of one kind whose pages are built together. Each is answered as soon as its page is made.
type set struct {
	*Filler
	// shared is nil for a request that is alone.
	shared *warehouse.Set
	// again is held while a page is built alone that the set could not build.
	again sync.Mutex
}

// result is what became of a request.
type result struct {
	fill  cache.Fill
	began time.Time
	span  telemetry.Span
	// outcome is a value of the metric.
	outcome string
	// view is what was made if the outcome is made and err is nil.
	view cache.View
	err  error
}

// fill answers requests whose callers still wait. It calls read when all is read, before the last are stored.
func (f *Filler) fill(ctx context.Context, fills []cache.Fill, read func()) {
	timeout := f.Timeout
	if slices.ContainsFunc(fills, func(fill cache.Fill) bool { return fill.Kept }) {
		timeout = max(timeout, keptTimeout)
	}
	building, cancel := context.WithTimeout(ctx, timeout)
	s := &set{Filler: f}
	if len(fills) > 1 {
		s.shared = warehouse.NewSet(len(fills))
	}
	results := make(chan result, len(fills))
	requests := warehouse.Values(fills, func(fill cache.Fill) cache.PageRequest { return fill.Page })
	for i, stored := range f.Store.RequestedPages(building, requests) {
		go func() { results <- s.make(building, fills[i], stored) }()
	}
	beating := &heartbeats{Filler: f, fills: slices.Clone(fills)}
	var sent sync.WaitGroup
	sent.Go(func() { beating.send(building) })
	defer sent.Wait()
	defer cancel()
	for left := len(fills); left > 0; {
		done := []result{<-results}
		for len(results) > 0 {
			done = append(done, <-results)
		}
		if left -= len(done); left == 0 {
			read()
		}
		s.finish(ctx, beating, done)
	}
}

// make makes a page, unless a fresh one is stored: it may have been made for others before this request was
// enqueued. A kept request wants the first page, which may have expired since.
func (s *set) make(ctx context.Context, fill cache.Fill, stored cache.RequestedPage) result {
	r := result{fill: fill, began: time.Now(), outcome: "made"}
	if fill.EnqueuedAt != 0 {
		s.metrics.waited.Observe(max(0, r.began.Sub(fill.EnqueuedAt.Time()).Seconds()))
	}
	ctx, r.span = s.Tracer.Start(s.Tracer.Extract(ctx, fill.Trace), "fill "+string(fill.Page.Kind), trace.SpanKindConsumer)
	switch {
	case isTooLate(fill, r.began):
		r.outcome = "abandoned"
		s.shared.Leave()
	case stored.Err == nil && (stored.View.IsFresh(stored.Version.Revision) || fill.Kept && !stored.View.Absent):
		r.outcome = "stored"
		s.shared.Leave()
	default:
		r.view, r.err = s.buildTogether(ctx, fill.Page, stored.Version)
	}
	return r
}

// buildTogether builds a page with the others, and alone if that fails: another page may be the cause.
func (s *set) buildTogether(ctx context.Context, r cache.PageRequest, version cache.Version) (cache.View, error) {
	view, err := s.build(s.shared.With(ctx), r, version)
	s.shared.Leave()
	if s.shared == nil || err == nil || errors.Is(err, cache.ErrMiss) {
		return view, err
	}
	s.Logger.LogAttrs(ctx, slog.LevelWarn, "a shared statement failed, building the page alone",
		slog.String("page", string(r.Key())), slog.Any("error", err))
	s.again.Lock()
	defer s.again.Unlock()
	return s.build(ctx, r, cache.Version{})
}

// finish stores the pages and wakes those who wait for them.
func (s *set) finish(ctx context.Context, beating *heartbeats, results []result) {
	completed := make([]cache.CompletedFill, len(results))
	for i, r := range results {
		completed[i] = cache.CompletedFill{Page: r.fill.Page, Failed: r.outcome == "abandoned" || r.err != nil}
		if r.outcome == "made" && r.err == nil {
			completed[i].View = &r.view
		}
	}
	beating.end(completed)
	errs := s.Store.Fills().Complete(ctx, completed)
	for i, r := range results {
		if r.err == nil {
			r.err = errs[i]
		}
		if r.err != nil {
			r.outcome = "failed"
			r.span.SetError(r.outcome)
			s.logFailure(ctx, r.fill, r.err)
		}
		s.metrics.observe(r.fill.Page.Kind, r.outcome, time.Since(r.began))
		r.span.End()
	}
}

// logFailure logs why a page was not made. Where Redis was flushed, pages fail until the next publication, in
// seconds, and one line in unpublishedLogInterval says so.
func (f *Filler) logFailure(ctx context.Context, fill cache.Fill, err error) {
	level, message := slog.LevelError, "filling a page failed"
	if errors.Is(err, cache.ErrMiss) {
		now, last := time.Now().UnixNano(), f.unpublishedLogged.Load()
		if now-last < int64(unpublishedLogInterval) || !f.unpublishedLogged.CompareAndSwap(last, now) {
			return
		}
		level, message = slog.LevelInfo, "Redis is empty, some pages are not filled until the next publication"
	}
	f.Logger.LogAttrs(ctx, level, message, slog.String("page", string(fill.Page.Key())), slog.Any("error", err)) //nolint:sloglint // one of two messages
}

// heartbeats keep the requests of a set from being enqueued again while they are in work.
type heartbeats struct {
	*Filler
	mu sync.Mutex
	// fills are the requests that are in work.
	fills []cache.Fill
}

// end ends the heartbeats of requests. None is sent afterwards: it would keep the page from being enqueued again.
func (h *heartbeats) end(completed []cache.CompletedFill) {
	done := map[cache.Key]bool{}
	for _, c := range completed {
		done[c.Page.Key()] = true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fills = slices.DeleteFunc(h.fills, func(f cache.Fill) bool { return done[f.Page.Key()] })
}

// send sends heartbeats until ctx ends.
func (h *heartbeats) send(ctx context.Context) {
	for ctx.Err() == nil {
		h.mu.Lock()
		err := h.Store.Fills().Heartbeat(ctx, h.fills)
		h.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			h.Logger.LogAttrs(ctx, slog.LevelWarn, "heartbeats of fills not sent, retrying", slog.Any("error", err))
		}
		backoff.Wait(ctx, heartbeatInterval)
	}
}
