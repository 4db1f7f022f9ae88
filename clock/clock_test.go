package clock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"pnyx/clock"
	"pnyx/test/check"
)

func TestSteppingClockMovesOnlyWhenSomebodyWaits(t *testing.T) {
	t.Parallel()

	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	c := clock.Stepping(start)
	check.MustDo(t, c.Wait(t.Context(), time.Hour))
	c.Step(time.Minute)
	if got, want := c.Now(), start.Add(time.Hour+time.Minute); !got.Equal(want) {
		t.Errorf("got %s, want %s", got, want)
	}
	ended, end := context.WithCancelCause(t.Context())
	over := errors.New("over")
	end(over)
	check.WantError(t, over, c.Wait(ended, time.Hour), "the cause of the end")
}
