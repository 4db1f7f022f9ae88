package ratelimit_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/ratelimit"
	"pnyx/test/env"
)

// slow is a plan whose buckets do not fill within a test.
func slow(burst int, month int64) ratelimit.Limits {
	rate := ratelimit.Rate{PerMinute: 1, Burst: burst}
	return ratelimit.Limits{Month: month, Standard: rate, Detail: rate}
}

// crowd lets many clients ask a number of limiters at once, each so many times, and
// counts what is allowed.
func crowd(t *testing.T, clients, times int, r ratelimit.Request, limiters ...*ratelimit.Limiter) (allowed int64) {
	t.Helper()
	var count atomic.Int64
	var asking sync.WaitGroup
	for n := range clients {
		asking.Go(func() {
			for range times {
				if limiters[n%len(limiters)].Take(t.Context(), r, noon).Allowed() {
					count.Add(1)
				}
			}
		})
	}
	asking.Wait()
	return count.Load()
}

func TestTwoProcessesShareABucketUnlessToldNotTo(t *testing.T) {
	t.Parallel()
	for perProcess, want := range map[bool]int64{false: 40, true: 80} {
		server := env.Redis(t)
		first := newLimiter(t, server.URL, soon, perProcess)
		second := newLimiter(t, server.URL, soon, perProcess)
		r := ratelimit.Request{Caller: "a", Limits: slow(40, 1000), Bucket: ratelimit.Standard}
		if got := crowd(t, 20, 20, r, first, second); got != want {
			t.Errorf("buckets of each process: %t: got %d of 400 requests allowed, want %d", perProcess, got, want)
		}
	}
}

func TestAMonthIsExactForManyClientsOfManyProcesses(t *testing.T) {
	t.Parallel()
	server := env.Redis(t)
	var limiters []*ratelimit.Limiter
	for range 3 {
		limiters = append(limiters, newLimiter(t, server.URL, soon, false))
	}
	r := ratelimit.Request{Caller: "a", Limits: slow(100_000, 100), Bucket: ratelimit.Detail}
	if got := crowd(t, 50, 10, r, limiters...); got != 100 {
		t.Errorf("got %d of 500 requests allowed, want the month's 100", got)
	}
	grant := limiters[0].Take(t.Context(), r, noon)
	if !grant.Quota.Refused || grant.Quota.Remaining() != 0 || grant.Quota.Used != 100 {
		t.Errorf("after the month: got %+v, want it refused, 100 used", grant.Quota)
	}
	next := limiters[1].Take(t.Context(), r, noon.AddDate(0, 1, 0))
	if !next.Allowed() || next.Quota.Used != 1 {
		t.Errorf("in the next month: got %+v, want the first", next.Quota)
	}
}

func TestABucketIsNotEmptyForAnHourBecauseAClockWasSetBack(t *testing.T) {
	t.Parallel()
	server := env.Redis(t)
	limiter := newLimiter(t, server.URL, soon, false)
	r := ratelimit.Request{Caller: "a", Limits: slow(3, 100), Bucket: ratelimit.Detail}
	if got := crowd(t, 1, 2, r, limiter); got != 2 {
		t.Fatalf("got %d of 2 requests allowed", got)
	}
	client := redis.NewClient(&redis.Options{Addr: strings.TrimPrefix(server.URL, "redis://")})
	defer client.Close()
	buckets, err := client.Keys(t.Context(), "rate:*").Result()
	if err != nil || len(buckets) != 1 {
		t.Fatalf("got the buckets %v (%v), want one", buckets, err)
	}
	// What a bucket holds is when it is full: an hour ahead is what it was while the clock
	// was an hour ahead.
	if err := client.IncrByFloat(t.Context(), buckets[0], time.Hour.Seconds()).Err(); err != nil {
		t.Fatal(err)
	}
	if got := crowd(t, 1, 5, r, limiter); got != 3 {
		t.Errorf("got %d of 5 requests allowed once the clock was right again, want a full bucket's 3", got)
	}
}

func TestWhatIsGivenBackCanBeUsedAgain(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"embedded": env.EmbeddedRedis(t), "real": env.Redis(t).URL, "a cluster": env.RedisCluster(t).URL,
		"none": "redis://127.0.0.1:1",
	} {
		limiter := newLimiter(t, url, time.Second, false)
		r := ratelimit.Request{Caller: "a", Limits: slow(1000, 2), Bucket: ratelimit.Detail}
		for range 5 {
			grant := limiter.Take(t.Context(), r, noon)
			if !grant.Allowed() || grant.Quota.Used != 1 {
				t.Fatalf("%s: got %+v, want the first of the month again and again", name, grant.Quota)
			}
			limiter.Refund(t.Context(), &grant)
			if grant.Quota.Used != 0 {
				t.Errorf("%s: after it is given back: got %+v, want nothing used", name, grant.Quota)
			}
		}
		limiter.Take(t.Context(), r, noon)
		limiter.Take(t.Context(), r, noon)
		if last := limiter.Take(t.Context(), r, noon); last.Allowed() {
			t.Errorf("%s: got %+v, want the month used up", name, last.Quota)
		}
	}
}

func TestWhatTheBucketRefusesTakesNothingFromTheMonth(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"real": env.Redis(t).URL, "none": "redis://127.0.0.1:1"} {
		limiter := newLimiter(t, url, 200*time.Millisecond, false)
		r := ratelimit.Request{Caller: "a", Limits: slow(3, 100), Bucket: ratelimit.Detail}
		if got := crowd(t, 5, 4, r, limiter); got != 3 {
			t.Errorf("%s: got %d allowed, want 3", name, got)
		}
		r.Bucket = ratelimit.Standard
		if grant := limiter.Take(t.Context(), r, noon); grant.Quota.Used != 4 {
			t.Errorf("%s: got %+v, want 3 used before", name, grant.Quota)
		}
	}
}

func TestARedisThatLostItsCountIsLiftedToTheJournal(t *testing.T) {
	t.Parallel()
	url := env.Redis(t).URL
	limiter := newLimiter(t, url, soon, false)
	store, err := cache.Open(url, soon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	r := ratelimit.Request{Caller: "a", Limits: slow(100, 10), Bucket: ratelimit.Detail}
	crowd(t, 1, 7, r, limiter)
	env.FlushRedis(t, env.RedisClient(t, url))
	raise := func(used int64) {
		t.Helper()
		if err := accounts.New(store).RaiseQuotas(t.Context(), "2026-03", map[string]int64{"a": used}); err != nil {
			t.Fatal(err)
		}
	}
	raise(7)
	raise(3) // an older journal
	if got := crowd(t, 4, 4, r, limiter); got != 3 {
		t.Errorf("got %d allowed, want the 3 that were left", got)
	}
}

// A request that waited for Redis would take as long as Redis is away; one that does
// not takes the limiter's patience, and what a busy machine adds.
const (
	away = 4 * time.Second
	late = away / 2
)

// patience is the limiter's own.
const patience = 40 * time.Millisecond

// load asks a limiter from many goroutines until it is told to stop, and returns
// the longest that any request took, and how many were allowed. What the machine
// itself was late by, at its worst, is taken off.
func load(t *testing.T, limiter *ratelimit.Limiter, r ratelimit.Request) (stop func() (longest time.Duration, allowed int64)) {
	t.Helper()
	done := make(chan struct{})
	var worst, allowed atomic.Int64
	var asking sync.WaitGroup
	for range 16 {
		asking.Go(func() {
			pace := time.NewTicker(2 * time.Millisecond)
			defer pace.Stop()
			for {
				select {
				case <-done:
					return
				case <-pace.C:
				}
				began := time.Now()
				if limiter.Take(t.Context(), r, began).Allowed() {
					allowed.Add(1)
				}
				took := int64(time.Since(began))
				for before := worst.Load(); took > before && !worst.CompareAndSwap(before, took); before = worst.Load() {
				}
			}
		})
	}
	var lag time.Duration
	asking.Go(func() { lag = lateness(done) })
	return func() (time.Duration, int64) {
		close(done)
		asking.Wait()
		return time.Duration(worst.Load()) - lag, allowed.Load()
	}
}

// lateness is by how much a timer was late at its worst until done.
func lateness(done <-chan struct{}) (worst time.Duration) {
	const while = time.Millisecond
	timer := time.NewTimer(while)
	defer timer.Stop()
	for {
		began := time.Now()
		select {
		case <-done:
			return worst
		case <-timer.C:
		}
		worst = max(worst, time.Since(began)-while)
		timer.Reset(while)
	}
}

func TestNoRequestWaitsForARedisThatIsAway(t *testing.T) {
	for name, trouble := range map[string]struct{ begin, end func(*env.RedisServer) }{
		"stopped": {(*env.RedisServer).Kill, (*env.RedisServer).Restart},
		"paused":  {(*env.RedisServer).Pause, (*env.RedisServer).Resume},
	} {
		t.Run(name, func(t *testing.T) {
			server := env.Redis(t)
			limiter := newLimiter(t, server.URL, patience, false)
			limits := slow(50, 1_000_000)
			r := ratelimit.Request{Caller: "a", Limits: limits, Bucket: ratelimit.Detail}
			stop := load(t, limiter, r)
			hold(t, 300*time.Millisecond)
			trouble.begin(server)
			hold(t, away)
			longest, allowed := stop()
			if longest > patience+late {
				t.Errorf("a request took %s", longest)
			}
			// One bucket in Redis, and one of the same size in the process.
			if allowed < 50 || allowed > 102 {
				t.Errorf("got %d allowed, want those of one bucket, or of two", allowed)
			}
			t.Logf("longest %s, allowed %d", longest, allowed)

			trouble.end(server)
			fresh := ratelimit.Request{Caller: "b", Limits: limits, Bucket: ratelimit.Detail}
			client := env.RedisClient(t, server.URL)
			env.Until(t, func() error {
				limiter.Take(t.Context(), fresh, noon)
				if n, err := client.Exists(t.Context(), "rate:"+accounts.BucketKey("b", "detail")).Result(); err != nil || n == 0 {
					return fmt.Errorf("limits are not shared again: %w", err)
				}
				return nil
			})
		})
	}
}

// hold lets the load go on for a while.
func hold(t *testing.T, while time.Duration) {
	t.Helper()
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal(errors.New("the test has ended"))
	}
}

func TestAnAddressIsWhatTrustedProxiesSay(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, same := range [][2][2]string{
		{{"192.0.2.1", ""}, {"192.0.2.1", "198.51.100.1"}},                 // nobody's word
		{{"192.0.2.1", ""}, {"10.0.0.1", "192.0.2.1"}},                     // the proxy's
		{{"192.0.2.1", ""}, {"10.0.0.1", "198.51.100.1, 192.0.2.1"}},       // the last hop's
		{{"192.0.2.1", ""}, {"10.0.0.1", "192.0.2.1, fd00::1 , 10.2.0.1"}}, // through several
		{{"192.0.2.1", ""}, {"::ffff:192.0.2.1", ""}},
		{{"10.0.0.1", ""}, {"10.0.0.1", "unknown"}},
		{{"2001:db8::1", ""}, {"2001:db8::ffff:1", ""}}, // one network of 64 bits
		{{"fe80::1%eth0", ""}, {"fe80::2%eth1", ""}},
	} {
		if !shared(trusted, same[0], same[1]) {
			t.Errorf("%v and %v have a bucket each", same[0], same[1])
		}
	}
	for _, differ := range [][2][2]string{
		{{"192.0.2.1", ""}, {"192.0.2.2", ""}},
		{{"2001:db8::1", ""}, {"2001:db8:0:1::1", ""}},
		{{"10.0.0.1", "192.0.2.1"}, {"10.0.0.1", "192.0.2.2"}},
	} {
		if shared(trusted, differ[0], differ[1]) {
			t.Errorf("%v and %v share a bucket", differ[0], differ[1])
		}
	}
}

// shared says whether two requests, each a peer and what it forwards, take from one
// bucket.
func shared(trusted []netip.Prefix, first, second [2]string) bool {
	addresses := ratelimit.NewIPLimiter(1, trusted, nil)
	addresses.Take(netip.MustParseAddr(first[0]), first[1], noon)
	return !addresses.Take(netip.MustParseAddr(second[0]), second[1], noon).Allowed
}

func TestAddressesWithoutARateAreNotLimited(t *testing.T) {
	t.Parallel()
	addresses := ratelimit.NewIPLimiter(0, nil, nil)
	for range 1000 {
		if !addresses.Take(netip.MustParseAddr("192.0.2.1"), "", noon).Allowed {
			t.Fatal("refused")
		}
	}
}

func TestBucketsThatAreForgottenWereFull(t *testing.T) {
	t.Parallel()
	buckets, rate := ratelimit.NewBuckets[string](), ratelimit.Rate{PerMinute: 1, Burst: 5}
	for range 5 {
		buckets.Take("a", rate, noon)
	}
	now := noon
	for range 4 { // a generation ends, and another, well before the bucket is full
		now = now.Add(14 * time.Second)
		buckets.Take("b", rate, now)
		if buckets.Take("a", rate, now).Allowed {
			t.Errorf("after %s a bucket is forgotten", now.Sub(noon))
		}
	}
	if !buckets.Take("a", rate, noon.Add(time.Hour)).Allowed {
		t.Error("after an hour a bucket is still empty")
	}
}
