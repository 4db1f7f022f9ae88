package follow

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"pnyx/backoff"
	"pnyx/fetch"
)

const (
	// maxStagger bounds the time within which the pollers of an upstream start.
	maxStagger = 2 * time.Second
	// minRetryPause and maxRetryPause bound the pause after a failure, which doubles each time. A poller whose
	// interval is longer pauses for at most its interval.
	minRetryPause, maxRetryPause = time.Second, time.Minute
	maxRunTime                   = time.Hour
)

// pollerRun runs one poller while its upstream is led.
type pollerRun struct {
	*Follower
	poller  Poller
	journal *Journal
	// places are those for backfills of the upstream.
	places chan struct{}
	// failures counts those since the last success.
	failures int
}

// run polls at every interval until ctx ends or the poller stops itself.
func (r *pollerRun) run(ctx context.Context) {
	r.journal.register(r.poller)
	pause, more := min(r.poller.Interval, maxStagger), false
	pause = rand.N(pause + 1) //nolint:gosec // no secret
	for r.Clock.Wait(ctx, pause) == nil {
		began := r.Clock.Now()
		var err error
		more, err = r.once(ctx, more)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, ErrStopped):
			r.journal.failed(r.poller, err, nil)
			r.Logger.LogAttrs(ctx, slog.LevelError, "poller halted, operator action required", r.attrs(err)...)
			return
		case err != nil:
			pause = r.fail(ctx, err)
		default:
			r.succeed(ctx)
			r.metrics.runs.WithLabelValues(r.poller.Name).Observe(r.Clock.Now().Sub(began).Seconds())
			// A little earlier than asked, so that pollers do not poll in step.
			pause = r.poller.Interval - rand.N(r.poller.Interval/10+1) - r.Clock.Now().Sub(began) //nolint:gosec // no secret
			if more {
				pause = 0
			}
		}
	}
}

// once polls when there is a place. backfill says that the poller reads the past.
func (r *pollerRun) once(ctx context.Context, backfill bool) (more bool, err error) {
	free := []chan struct{}{r.runs}
	if backfill {
		free = []chan struct{}{r.places, r.backfills}
	}
	for _, places := range free {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case places <- struct{}{}:
			defer func() { <-places }()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, maxRunTime)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			r.Logger.LogAttrs(ctx, slog.LevelError, "poller panicked",
				append(r.attrs(nil), slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))...)
			err = errors.New("internal error") // the log has the cause
		}
	}()
	return r.poller.Run(ctx)
}

func (r *pollerRun) succeed(ctx context.Context) {
	if r.failures > 0 {
		r.Logger.LogAttrs(ctx, slog.LevelInfo, "poller works again", r.attrs(nil)...)
	}
	r.failures = 0
	r.journal.succeeded(r.poller)
}

// fail notes a failure and returns the pause before the next attempt.
func (r *pollerRun) fail(ctx context.Context, err error) time.Duration {
	now := r.Clock.Now()
	pause := backoff.Jitter(min(minRetryPause<<min(r.failures, 20), max(maxRetryPause, r.poller.Interval)))
	if limited, ok := errors.AsType[*fetch.LimitedError](err); ok {
		pause = max(limited.Until.Sub(now), minRetryPause)
	}
	r.failures++
	r.metrics.failures.WithLabelValues(r.journal.upstream, r.poller.Name).Inc()
	if r.failures == 1 {
		r.Logger.LogAttrs(ctx, slog.LevelWarn, "poller failed, retrying", r.attrs(err)...)
	}
	r.journal.failed(r.poller, err, new(now.Add(pause)))
	return pause
}

// attrs are the attributes of every log line about the poller.
func (r *pollerRun) attrs(err error) []slog.Attr {
	attrs := []slog.Attr{slog.String("upstream", r.journal.upstream), slog.String("poller", r.poller.Name)}
	if r.poller.Source.ID != "" {
		attrs = append(attrs, slog.String("source", r.poller.Source.ID))
	}
	if err != nil {
		attrs = append(attrs, slog.Int("failures", r.failures), slog.Any("error", err))
	}
	return attrs
}
