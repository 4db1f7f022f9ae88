package engine

import (
	"context"
	"log/slog"
	"time"

	"pnyx/backoff"
)

const (
	// minPause is the pause before the first restart. Each failure doubles it, up to backoff.Max.
	minPause = 100 * time.Millisecond
	// stableAfter is how long an engine must run for its failures to start from zero again.
	stableAfter = time.Minute
)

// supervise restarts the engine whenever it ends, until ctx is done. e.process is then the last process.
func (e *Engine) supervise(ctx context.Context) {
	defer close(e.supervised)
	failures := 0
	for {
		start := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-e.process.exited:
		}
		if time.Since(start) >= stableAfter {
			failures = 0
		}
		e.logger.LogAttrs(ctx, slog.LevelError, "engine ended unexpectedly, restarting",
			slog.Any("error", e.process.exitError()), slog.Int("failures", failures))
		if failures = e.restart(ctx, failures); ctx.Err() != nil {
			return
		}
	}
}

// restart starts the engine on the same ports, so that connection pools recover by themselves. It retries until it
// succeeds or ctx is done, and returns the number of consecutive failures, including this end of the engine.
func (e *Engine) restart(ctx context.Context, failures int) int {
	for {
		backoff.Wait(ctx, backoff.Jitter(pauseAfter(failures)))
		if ctx.Err() != nil {
			return failures
		}
		failures++
		err := e.launch(ctx)
		if err == nil || ctx.Err() != nil {
			return failures
		}
		e.logger.LogAttrs(ctx, slog.LevelError, "restarting engine failed",
			slog.Any("error", err), slog.Int("failures", failures))
	}
}

// pauseAfter returns the pause before a start, without jitter.
func pauseAfter(failures int) time.Duration { return min(minPause<<min(failures, 7), backoff.Max) }
