package ratelimit_test

import (
	"math"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"pnyx/cache/accounts"
	"pnyx/ratelimit"
	"pnyx/test/env"
)

// bucketStore is one of the stores of buckets, with a clock that the test advances.
type bucketStore struct {
	take    func(ratelimit.Request) ratelimit.Decision
	advance func(time.Duration)
	// off is by how much times may be short: a real server's clock goes on.
	off time.Duration
}

func TestBucketsOfEveryPlan(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) *bucketStore{
		"in process": processBuckets, "on the embedded Redis": embeddedBuckets, "on a real Redis": serverBuckets,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			for _, plan := range ratelimit.Plans() {
				for _, bucket := range []ratelimit.Bucket{ratelimit.Standard, ratelimit.Detail} {
					s.check(t, plan, bucket)
				}
			}
		})
	}
}

// TestLargestLimitsRefuseNothing takes from buckets of the largest numbers that a token may have.
func TestLargestLimitsRefuseNothing(t *testing.T) {
	t.Parallel()
	limits := ratelimit.LimitsFromRow([]uint32{math.MaxUint32, math.MaxUint32, math.MaxUint32, 1000, math.MaxUint32})
	for _, bucket := range []ratelimit.Bucket{ratelimit.Standard, ratelimit.Detail} {
		got := ratelimit.NewBuckets[string]().Take("caller", limits.Rate(bucket), noon)
		if !got.Allowed || got.Remaining != math.MaxUint32-1 {
			t.Errorf("%s: got %+v, want it allowed, and all but one remaining", bucket, got)
		}
	}
}

// check takes a burst, has a refusal with the time of the next token, is a moment early, in time, and rests.
func (s *bucketStore) check(t *testing.T, plan ratelimit.Plan, bucket ratelimit.Bucket) {
	t.Helper()
	limits := plan.Limits()
	limits.Month = 0
	r := ratelimit.Request{Caller: string(plan), Limits: limits, Bucket: bucket}
	rate := limits.Rate(bucket)
	interval := time.Minute / time.Duration(rate.PerMinute)
	s.burst(t, r)

	refused := s.take(r)
	if refused.Allowed || refused.Remaining != 0 || !s.near(refused.RetryAfter, interval) || refused.ResetAfter != refused.RetryAfter {
		t.Errorf("%s %s after the burst: got %+v, want one more and a retry after %s",
			plan, bucket, refused, interval)
	}
	early := 2*s.off + time.Millisecond
	s.advance(interval - early)
	if refused = s.take(r); refused.Allowed || !s.near(refused.RetryAfter, early) {
		t.Errorf("%s %s, %s early: got %+v, want a retry then", plan, bucket, early, refused)
	}
	s.advance(early)
	if in := s.take(r); !in.Allowed || in.Remaining != 0 || in.RetryAfter != 0 {
		t.Errorf("%s %s, in time: got %+v, want it allowed as the last", plan, bucket, in)
	}
	if refused = s.take(r); refused.Allowed {
		t.Errorf("%s %s: a second request in one interval is allowed", plan, bucket)
	}
	s.advance(rate.Window())
	s.burst(t, r)
	s.advance(time.Hour)
	s.burst(t, r) // no more than a burst is saved up
	s.together(t, r)
}

// together wants three requests at once to be allowed when they say, and refused ones to take nothing.
func (s *bucketStore) together(t *testing.T, r ratelimit.Request) {
	t.Helper()
	first, next := r, r
	first.Further, next.Further = 2, -1
	refused := s.take(first)
	s.advance(refused.RetryAfter / 2)
	if refused = s.take(first); refused.Allowed || refused.RetryAfter <= 0 {
		t.Fatalf("%s %s, three with a token and a half: got %+v, want when to try again", r.Caller, r.Bucket, refused)
	}
	s.advance(refused.RetryAfter + s.off + time.Millisecond) // times in Redis are exact to ten microseconds
	if got := s.take(first); !got.Allowed || got.Remaining != 0 {
		t.Errorf("%s %s, three at the time that was said: got %+v, want them allowed as the last", r.Caller, r.Bucket, got)
	}
	for range 2 {
		if got := s.take(next); !got.Allowed {
			t.Errorf("%s %s: got %+v for a request whose token is taken, want it allowed", r.Caller, r.Bucket, got)
		}
	}
}

// burst wants exactly as many requests allowed as the bucket holds.
func (s *bucketStore) burst(t *testing.T, r ratelimit.Request) {
	t.Helper()
	size := r.Limits.Rate(r.Bucket).Burst
	for n := range size {
		interval := time.Minute / time.Duration(r.Limits.Rate(r.Bucket).PerMinute)
		if got := s.take(r); !got.Allowed || got.Remaining != size-n-1 || got.ResetAfter <= 0 || got.ResetAfter > interval {
			t.Fatalf("%s %s, request %d of %d at once: got %+v", r.Caller, r.Bucket, n+1, size, got)
		}
	}
	if got := s.take(r); got.Allowed {
		t.Errorf("%s %s: more than %d at once are allowed", r.Caller, r.Bucket, size)
	}
}

func (s *bucketStore) near(got, want time.Duration) bool {
	return got <= want && got >= want-s.off
}

// processBuckets is a limiter without a Redis.
func processBuckets(t *testing.T) *bucketStore {
	t.Helper()
	limiter := newLimiter(t, "redis://127.0.0.1:1", 50*time.Millisecond, false)
	now := noon
	return &bucketStore{
		take:    func(r ratelimit.Request) ratelimit.Decision { return limiter.Take(t.Context(), r, now).Decision },
		advance: func(d time.Duration) { now = now.Add(d) },
	}
}

// embeddedBuckets is on a miniredis, whose clock goes on by what a float since 2017 cannot tell apart.
func embeddedBuckets(t *testing.T) *bucketStore {
	t.Helper()
	const tick = 20 * time.Microsecond
	server := miniredis.RunT(t)
	limiter := newLimiter(t, "redis://"+server.Addr(), soon, false)
	now := noon
	advance := func(d time.Duration) {
		now = now.Add(d)
		server.FastForward(d)
		server.SetTime(now)
	}
	return &bucketStore{
		take: func(r ratelimit.Request) ratelimit.Decision {
			advance(tick)
			return limiter.Take(t.Context(), r, now).Decision
		},
		advance: advance,
		off:     250 * tick, // of a whole burst
	}
}

// serverBuckets is on a redis-server, whose clock cannot be moved: before each step a bucket is put to where it
// was after the last, by the server's clock. A step that took long is done again.
func serverBuckets(t *testing.T) *bucketStore {
	t.Helper()
	const quick = 20 * time.Millisecond
	server := env.Redis(t)
	client := env.RedisClient(t, server.URL)
	limiter := newLimiter(t, server.URL, soon, false)
	leads := map[string]time.Duration{} // how far ahead of the clock each bucket is full
	return &bucketStore{
		take: func(r ratelimit.Request) ratelimit.Decision {
			key := "rate:" + accounts.BucketKey(r.Caller, string(r.Bucket))
			for range 100 {
				before := serverTime(t, client)
				put(t, client, key, before, leads[key])
				decision := limiter.Take(t.Context(), r, noon).Decision
				if serverTime(t, client).Sub(before) > quick {
					continue
				}
				if decision.Allowed {
					leads[key] = max(0, leads[key]) + time.Duration(1+r.Further)*time.Minute/time.Duration(r.Limits.Rate(r.Bucket).PerMinute)
				}
				return decision
			}
			t.Fatal("the server is never quick")
			return ratelimit.Decision{}
		},
		advance: func(d time.Duration) {
			for key := range leads {
				leads[key] -= d
			}
		},
		off: quick,
	}
}

func serverTime(t *testing.T, client redis.UniversalClient) time.Time {
	t.Helper()
	return env.Must(client.Time(t.Context()).Result())(t)
}

// put makes a bucket full at a time that lies ahead, in the limiter's own seconds since 2017.
func put(t *testing.T, client redis.UniversalClient, key string, now time.Time, ahead time.Duration) {
	t.Helper()
	const epoch = 1483228800
	full := now.Add(ahead).Sub(time.Unix(epoch, 0)).Seconds()
	env.MustDo(t, client.Set(t.Context(), key, full, time.Hour).Err())
}
