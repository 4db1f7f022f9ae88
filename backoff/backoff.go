// Package backoff holds the pauses between the attempts of the worker's loops, and the signal that ends a wait.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Max is the longest pause after repeated errors.
const Max = 10 * time.Second

// Next returns the pause that follows pause after another error: twice as long, up to Max.
func Next(pause time.Duration) time.Duration { return min(2*pause, Max) }

// Jitter returns a random duration between half of pause and pause, so that several
// workers do not retry at the same moment.
func Jitter(pause time.Duration) time.Duration {
	return pause/2 + rand.N(pause/2+1) //nolint:gosec // no secret
}

// Wait blocks for pause or until ctx ends.
func Wait(ctx context.Context, pause time.Duration) { Await(ctx, pause, nil) }

// Await is Wait that a signal ends too, which it reports.
func Await(ctx context.Context, pause time.Duration, signal <-chan struct{}) (told bool) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-signal:
		return true
	case <-timer.C:
	}
	return false
}

// Wake sends a signal to a channel with room for one, unless one is there. It does not block.
func Wake(signal chan<- struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}
