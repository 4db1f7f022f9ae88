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

	// stableAfter is how long an engine has to run for its end to count as the
	// first of its kind, not as the next of a series.
	stableAfter = time.Minute
)

// supervise starts the engine again whenever it ends, until ctx is done. It
// leaves the last process in e.process.
func (e *Engine) supervise(ctx context.Context) {
	defer close(e.supervised)
	failures := 0
	for {
		began := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-e.process.exited:
		}
		if time.Since(began) >= stableAfter {
			failures = 0
		}
		e.logger.LogAttrs(ctx, slog.LevelError, "engine ended unexpectedly, starting it again",
			slog.Any("error", e.process.exitError()), slog.Int("failures", failures))
		if failures = e.restart(ctx, failures); ctx.Err() != nil {
			return
		}
	}
}

// restart starts the engine on the ports it had, so that connection pools
// recover by themselves, as often as it takes. It returns the number of failures
// so far, this end of the engine included.
func (e *Engine) restart(ctx context.Context, failures int) int {
	for sleep(ctx, backoff(failures, rand.Float64())) { //nolint:gosec // jitter is no secret
		failures++
		err := e.launch(ctx)
		if err == nil || ctx.Err() != nil {
			return failures
		}
		e.logger.LogAttrs(ctx, slog.LevelError, "engine did not start again",
			slog.Any("error", err), slog.Int("failures", failures))
	}
	return failures
}

// backoff is the pause before the next start after so many failures: it doubles
// up to maxBackoff. Chance, from 0 to 1, takes away up to half of it.
func backoff(failures int, chance float64) time.Duration {
	pause := maxBackoff
	if failures < 7 {
		pause = min(maxBackoff, minBackoff<<failures)
	}
	return pause - time.Duration(chance*float64(pause)/2)
}

// sleep pauses for d and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
