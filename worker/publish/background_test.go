package publish

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackgroundDoesOnePieceAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, began := newBackground(), time.Now()
		ended := make(chan time.Duration)
		for range 3 {
			go func() {
				err := b.run(t.Context(), func() error { <-time.After(time.Second); return nil })
				if err != nil {
					t.Error(err)
				}
				ended <- time.Since(began)
			}()
		}
		for piece := range 3 {
			if got, want := <-ended, time.Duration(piece+1)*time.Second; got != want {
				t.Errorf("piece %d ended after %s, want %s", piece, got, want)
			}
		}
	})
}

func TestNoWorkWaitsLongForItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, began := newBackground(), time.Now()
		err := b.run(t.Context(), func() error {
			return b.run(t.Context(), func() error { return nil })
		})
		if got := time.Since(began); err != nil || got != maxBackgroundWait {
			t.Errorf("got %v after %s, want a second piece of work after %s", err, got, maxBackgroundWait)
		}
		if err := b.run(t.Context(), func() error { return nil }); err != nil || time.Since(began) != maxBackgroundWait {
			t.Errorf("got %v after %s, want a turn at once", err, time.Since(began))
		}
	})
}

func TestBackgroundEndsWithTheTerm(t *testing.T) {
	t.Parallel()
	b := newBackground()
	failed := errors.New("failed")
	term, end := context.WithCancelCause(t.Context())
	got := b.run(t.Context(), func() error {
		end(failed)
		return b.run(term, func() error { t.Error("worked beside another piece"); return nil })
	})
	if !errors.Is(got, failed) {
		t.Errorf("got %v, want the cause of the end of the term", got)
	}
	if err := b.run(t.Context(), func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("got %v, want the error of the work", err)
	}
}
