package webhook

import (
	"math/rand/v2"
	"net/http"
	"time"

	"pnyx/fetch"
)

const (
	// maxAge is how long a message stays in the queue.
	maxAge = 5 * 24 * time.Hour
	// maxFailing is how long an endpoint may fail before it is turned off; less than the age of the message with
	// which that began.
	maxFailing = maxAge - time.Hour
	// jitter is the part of a pause that is added at random, at most.
	jitter = 0.1
	// minAsked and maxAsked bound the pause that a receiver asks for: no less than after the first failure, a day
	// at most.
	minAsked = 5 * time.Second
	maxAsked = 24 * time.Hour
)

// pauseAfter returns the pause after failed attempts. The last one repeats until the message is too old.
func pauseAfter(failures uint32) time.Duration {
	pauses := []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	}
	pause := pauses[min(max(int(failures), 1), len(pauses))-1]
	return pause + rand.N(time.Duration(jitter*float64(pause))) //nolint:gosec // no secret
}

// askedPause is what Retry-After asks for, zero for nothing.
func askedPause(header http.Header, now time.Time) time.Duration {
	pause, stated := fetch.RetryAfter(header, now, maxAsked)
	if !stated {
		return 0
	}
	return max(pause, minAsked)
}
