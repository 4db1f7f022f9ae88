// Package clock is the time that followers go by. Tests let it pass faster, or only while
// a caller waits.
package clock

import (
	"context"
	"sync"
	"time"
)

// Clock tells the time and waits. A nil Clock is the system's.
type Clock struct {
	// started is when the clock was made, and factor how much faster than the system's it
	// runs since. A stepping clock has the factor 0.
	started time.Time
	factor  float64

	// now and wait drive a driven clock, nil for others.
	now  func() time.Time
	wait func(context.Context, time.Duration) error

	mu     sync.Mutex
	passed time.Duration
}

// Driven returns a clock whose time is told, and whose waits are ended, by a simulation.
func Driven(now func() time.Time, wait func(ctx context.Context, pause time.Duration) error) *Clock {
	return &Clock{now: now, wait: wait}
}

// Faster returns a clock that runs factor times as fast as the system's from now on.
func Faster(factor float64) *Clock { return &Clock{started: time.Now(), factor: factor} }

// Stepping returns a clock that stands at a time. Wait returns at once and moves the clock
// on by what would have passed, as Step does.
func Stepping(start time.Time) *Clock { return &Clock{started: start} }

// Now returns the time in UTC.
func (c *Clock) Now() time.Time {
	switch {
	case c == nil:
		return time.Now().UTC()
	case c.now != nil:
		return c.now().UTC()
	case c.factor == 0:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.started.Add(c.passed).UTC()
	}
	return c.started.Add(time.Duration(float64(time.Since(c.started)) * c.factor)).UTC()
}

// Step moves a stepping clock on.
func (c *Clock) Step(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed += max(0, by)
}

// Wait blocks for a duration of this clock or until ctx ends. It returns the cause of the
// end, or nil.
func (c *Clock) Wait(ctx context.Context, pause time.Duration) error {
	if c != nil && c.wait != nil {
		return c.wait(ctx, pause)
	}
	if c != nil && c.factor == 0 {
		c.Step(pause)
		return context.Cause(ctx)
	}
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
