package clock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"pnyx/clock"
)

func TestSteppingClockMovesOnlyWhenSomebodyWaits(t *testing.T) {
	t.Parallel()

	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	c := clock.Stepping(start)
	if err := c.Wait(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	c.Step(time.Minute)
	if got, want := c.Now(), start.Add(time.Hour+time.Minute); !got.Equal(want) {
		t.Errorf("got %s, want %s", got, want)
	}
	ended, end := context.WithCancelCause(t.Context())
	over := errors.New("over")
	end(over)
	if err := c.Wait(ended, time.Hour); !errors.Is(err, over) {
		t.Errorf("got %v, want the cause of the end", err)
	}
}
