package engine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 10 * time.Second
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
	for sleep(ctx, backoff(failures, rand.Float64())) { //nolint:gosec // jitter is no secret
		failures++
		err := e.launch(ctx)
		if err == nil || ctx.Err() != nil {
			return failures
		}
		e.logger.LogAttrs(ctx, slog.LevelError, "restarting engine failed",
			slog.Any("error", err), slog.Int("failures", failures))
	}
	return failures
}

// backoff returns the delay before a start. It doubles up to maxBackoff; jitter, 0 to 1, reduces it by up to a
// half.
func backoff(failures int, jitter float64) time.Duration {
	delay := maxBackoff
	if failures < 7 {
		delay = min(maxBackoff, minBackoff<<failures)
	}
	return delay - time.Duration(jitter*float64(delay)/2)
}

// sleep waits for d or until ctx is done. It reports whether ctx is not done.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
