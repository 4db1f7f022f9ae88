package env

import (
	"testing"
	"time"
)

const (
	// maxWait bounds a wait: nothing takes as long when all is well, on however slow a machine.
	maxWait = 2 * time.Minute
	// pause is between two tries.
	pause = 10 * time.Millisecond
)

// Until tries something until it succeeds. If that takes minutes, its last error ends the test.
func Until(tb testing.TB, try func() error) {
	tb.Helper()
	Within(tb, maxWait, try)
}

// Within is Until for what has to come about in a limited time.
func Within(tb testing.TB, limit time.Duration, try func() error) {
	tb.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	again := time.NewTicker(pause)
	defer again.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-deadline.C:
			tb.Fatalf("after %s: %v", limit, err)
		}
	}
}
