package publish

import (
	"testing"
	"time"
)

func TestPublicationsRestDuringLongImportsAlone(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	p := pace{ended: now}
	publish := func(pause, took time.Duration, everything bool) time.Duration {
		began := now.Add(pause)
		now = began.Add(took)
		return p.rest(began, now, everything)
	}
	want := func(got, want time.Duration) {
		t.Helper()
		if got != want {
			t.Errorf("got a rest of %v, want %v", got, want)
		}
	}
	want(publish(0, time.Minute, true), 0)
	for range 100 { // a ballot a second
		want(publish(600*time.Millisecond, 400*time.Millisecond, false), 0)
	}
	rest := time.Duration(0)
	for range 10 { // batch after batch
		rest = publish(rest, 600*time.Millisecond, false)
	}
	want(rest, 600*time.Millisecond)
	for range 3 {
		rest = publish(rest, time.Minute, false)
		want(rest, maxRest)
	}
	want(publish(burst, 400*time.Millisecond, false), 0)
}
