// Package clock is the time that followers go by. Tests let it pass faster.
package clock

import (
	"context"
	"time"
)

// Clock tells the time and waits. A nil Clock is the system's.
type Clock struct {
	// started is when the clock was made, and factor how much faster than the system's it
	// runs since.
	started time.Time
	factor  float64
}

// Faster returns a clock that runs factor times as fast as the system's from now on.
func Faster(factor float64) *Clock {
	return &Clock{started: time.Now(), factor: factor}
}

// Now returns the time in UTC.
func (c *Clock) Now() time.Time {
	if c == nil {
		return time.Now().UTC()
	}
	return c.started.Add(time.Duration(float64(time.Since(c.started)) * c.factor)).UTC()
}

// Wait blocks for a duration of this clock or until ctx ends. It returns the cause of the
// end, or nil.
func (c *Clock) Wait(ctx context.Context, pause time.Duration) error {
	if c != nil {
		pause = time.Duration(float64(pause) / c.factor)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
