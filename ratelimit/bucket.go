package ratelimit

import (
	"sync"
	"time"
)

// Decision is the answer of a bucket to a request.
type Decision struct {
	Allowed bool
	// Remaining is how many more requests are allowed at once.
	Remaining  int
	RetryAfter time.Duration // zero if this request was allowed
	// ResetAfter is the time until one more request is allowed than Remaining says; zero while the bucket is full.
	ResetAfter time.Duration
}

// take is the generic cell rate algorithm. Its whole state is when the bucket will be full again.
func (r Rate) take(full time.Time, tokens int, now time.Time) (time.Time, Decision) {
	if full.Before(now) {
		full = now
	}
	after := full.Add(time.Duration(tokens) * r.interval())
	early := after.Sub(now) - r.Window()
	if early > 0 {
		return full, Decision{RetryAfter: early, ResetAfter: early}
	}
	decision := r.state(after.Sub(now))
	decision.Allowed = true
	return after, decision
}

// state returns the state of a bucket that will be full after some time.
func (r Rate) state(full time.Duration) Decision {
	left := max(0, int((r.Window()-full)/r.interval()))
	next := full - r.Window() + time.Duration(left+1)*r.interval()
	return Decision{Allowed: left > 0, Remaining: left, ResetAfter: max(0, min(full, next))}
}

// generationTTL is how long a generation of buckets accepts new ones. It is longer than any bucket takes to fill,
// so a bucket that is dropped was full.
const generationTTL = 2 * time.Minute

// Buckets are token buckets of this process, by key. They are safe for concurrent use. Unused ones are dropped
// after one or two generations: they are full by then, unless a flood of new keys ended a generation early.
type Buckets[Key comparable] struct {
	mu         sync.Mutex
	began      time.Time
	young, old map[Key]time.Time
	maxWindow  time.Duration
}

// NewBuckets returns buckets that are all full.
func NewBuckets[Key comparable]() *Buckets[Key] {
	return &Buckets[Key]{young: map[Key]time.Time{}}
}

// Take takes one token from a bucket.
func (b *Buckets[Key]) Take(key Key, rate Rate, now time.Time) Decision {
	return b.TakeN(key, rate, 1, now)
}

// TakeN takes several tokens from a bucket, or none if it has fewer.
func (b *Buckets[Key]) TakeN(key Key, rate Rate, tokens int, now time.Time) Decision {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rotate(rate, now)
	full, known := b.young[key]
	if !known {
		full = b.old[key]
	}
	full, decision := rate.take(full, tokens, now)
	b.young[key] = full
	return decision
}

// Peek returns the state of a bucket without taking a token.
func (b *Buckets[Key]) Peek(key Key, rate Rate, now time.Time) Decision {
	b.mu.Lock()
	defer b.mu.Unlock()
	full, known := b.young[key]
	if !known {
		full = b.old[key]
	}
	return rate.state(max(0, full.Sub(now)))
}

// rotate starts a new generation when the present one is old or large.
func (b *Buckets[Key]) rotate(rate Rate, now time.Time) {
	const maxBuckets = 100_000 // bounds the buckets of a generation, at about 100 bytes each
	b.maxWindow = max(b.maxWindow, rate.Window(), generationTTL)
	if now.Sub(b.began) < b.maxWindow && len(b.young) < maxBuckets {
		return
	}
	b.began, b.old, b.young = now, b.young, make(map[Key]time.Time)
}
