package ratelimit

import (
	"sync"
	"time"
)

// Decision is what a bucket says to a request.
type Decision struct {
	Allowed bool
	// Remaining is how many more are allowed at once.
	Remaining int
	// RetryAfter is when the next request is allowed; zero for one that was.
	RetryAfter time.Duration
	// ResetAfter is when the bucket is full again.
	ResetAfter time.Duration
}

// take is the generic cell rate algorithm. Full is when the bucket will be full
// again, which is all that it remembers.
func (r Rate) take(full, now time.Time) (time.Time, Decision) {
	if full.Before(now) {
		full = now
	}
	after := full.Add(r.interval())
	early := after.Sub(now) - r.Window()
	if early > 0 {
		return full, Decision{RetryAfter: early, ResetAfter: full.Sub(now)}
	}
	return after, Decision{Allowed: true, Remaining: r.remaining(after.Sub(now)), ResetAfter: after.Sub(now)}
}

// look is what take would leave untouched.
func (r Rate) look(full, now time.Time) Decision {
	reset := max(0, full.Sub(now))
	return Decision{Allowed: r.remaining(reset) > 0, Remaining: r.remaining(reset), ResetAfter: reset}
}

// remaining is how many requests a bucket allows that will be full after a while.
func (r Rate) remaining(reset time.Duration) int {
	return max(0, int((r.Window()-reset)/r.interval()))
}

// mostBuckets bounds the buckets of a generation, at some 100 bytes each.
const mostBuckets = 100_000

// generationFor is how long a generation of buckets is added to. It is longer than
// any bucket takes to fill, so that a bucket that is forgotten was full.
const generationFor = 2 * time.Minute

// Buckets are token buckets of this process, by key. Those that were not used in a
// generation or two are forgotten: they are full again, unless a flood of new ones
// ended the generation early.
type Buckets[Key comparable] struct {
	mu            sync.Mutex
	began         time.Time
	young, old    map[Key]time.Time
	longestWindow time.Duration
}

// NewBuckets returns buckets that are all full.
func NewBuckets[Key comparable]() *Buckets[Key] {
	return &Buckets[Key]{young: map[Key]time.Time{}}
}

// Take takes one token out of a bucket.
func (b *Buckets[Key]) Take(key Key, rate Rate, now time.Time) Decision {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.age(rate, now)
	full, known := b.young[key]
	if !known {
		full = b.old[key]
	}
	full, decision := rate.take(full, now)
	b.young[key] = full
	return decision
}

// Peek says where a bucket stands.
func (b *Buckets[Key]) Peek(key Key, rate Rate, now time.Time) Decision {
	b.mu.Lock()
	defer b.mu.Unlock()
	full, known := b.young[key]
	if !known {
		full = b.old[key]
	}
	return rate.look(full, now)
}

// age begins a new generation when the present one is old or large.
func (b *Buckets[Key]) age(rate Rate, now time.Time) {
	b.longestWindow = max(b.longestWindow, rate.Window(), generationFor)
	if now.Sub(b.began) < b.longestWindow && len(b.young) < mostBuckets {
		return
	}
	b.began, b.old, b.young = now, b.young, make(map[Key]time.Time)
}
