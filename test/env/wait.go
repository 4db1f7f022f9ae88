package env

import (
	"testing"
	"time"
)

const (
	// maxWait bounds a wait: nothing takes as long when all is well, on however slow a machine.
	maxWait = 2 * time.Minute
	// minPause and maxPause bound the pause between two tries, a tenth of the time waited so far.
	minPause, maxPause = 5 * time.Millisecond, 200 * time.Millisecond
)

// Until tries something until it succeeds. If that takes minutes, its last error ends the test.
func Until(tb testing.TB, try func() error) {
	tb.Helper()
	Within(tb, maxWait, try)
}

// Within is Until for what has to come about in a limited time.
func Within(tb testing.TB, limit time.Duration, try func() error) {
	tb.Helper()
	began := time.Now()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-time.After(min(max(time.Since(began)/10, minPause), maxPause)):
		case <-deadline.C:
			tb.Fatalf("after %s: %v", limit, err)
		}
	}
}
