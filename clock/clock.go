// Package clock is the time that followers go by. Tests let it pass only while a caller waits.
package clock

import (
	"context"
	"sync"
	"time"

	"pnyx/backoff"
)

// Clock tells the time and waits. A nil Clock is the system's.
type Clock struct {
	// now and wait drive a driven clock; nil for a stepping one, which stands at a time.
	now  func() time.Time
	wait func(context.Context, time.Duration) error

	mu sync.Mutex
	at time.Time
}

// Elapsed returns how long before now something was noted. A time that is to come was noted by a clock that went back since: it
// counts as long ago as it is ahead, so that what is due after it is not put off for good.
func Elapsed(now, noted time.Time) time.Duration { return now.Sub(noted).Abs() }

// Driven returns a clock whose time is told, and whose waits are ended, by a simulation.
func Driven(now func() time.Time, wait func(ctx context.Context, pause time.Duration) error) *Clock {
	return &Clock{now: now, wait: wait}
}

// Stepping returns a clock that stands at a time. Wait returns at once and moves the clock
// on by what would have passed, as Step does.
func Stepping(start time.Time) *Clock { return &Clock{at: start} }

// Now returns the time in UTC.
func (c *Clock) Now() time.Time {
	switch {
	case c == nil:
		return time.Now().UTC()
	case c.now != nil:
		return c.now().UTC()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at.UTC()
}

// Step moves a stepping clock on.
func (c *Clock) Step(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(max(0, by))
}

// Wait blocks for a duration of this clock or until ctx ends. It returns the cause of the
// end, or nil.
func (c *Clock) Wait(ctx context.Context, pause time.Duration) error {
	switch {
	case c == nil:
		backoff.Wait(ctx, pause)
	case c.wait != nil:
		return c.wait(ctx, pause)
	default:
		c.Step(pause)
	}
	return context.Cause(ctx)
}
