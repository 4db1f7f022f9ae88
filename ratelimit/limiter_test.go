package ratelimit_test

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/cache/accounts"
	"pnyx/ratelimit"
	"pnyx/test/env"
)

// slow is a plan whose buckets do not fill within a test.
func slow(burst int, month int64) ratelimit.Limits {
	rate := ratelimit.Rate{PerMinute: 1, Burst: burst}
	return ratelimit.Limits{Month: month, Standard: rate, Detail: rate}
}

// takeConcurrently lets clients take from limiters, each so many times, and counts what is allowed.
func takeConcurrently(t *testing.T, clients, times int, r ratelimit.Request, limiters ...*ratelimit.Limiter) (allowed int64) {
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
	for name, c := range map[string]struct {
		perProcess bool
		want       int64
	}{
		"shared": {false, 40}, "of each process": {true, 80},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := env.Redis(t)
			first := newLimiter(t, server.URL, soon, c.perProcess)
			second := newLimiter(t, server.URL, soon, c.perProcess)
			r := ratelimit.Request{Caller: "a", Limits: slow(40, 1000), Bucket: ratelimit.Standard}
			env.Want(t, c.want, takeConcurrently(t, 20, 20, r, first, second), "of 400 requests allowed")
		})
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
	env.Want(t, 100, takeConcurrently(t, 50, 10, r, limiters...), "of 500 requests allowed", "the month's 100")
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
	if got := takeConcurrently(t, 1, 2, r, limiter); got != 2 {
		t.Fatalf("got %d of 2 requests allowed", got)
	}
	client := redis.NewClient(&redis.Options{Addr: strings.TrimPrefix(server.URL, "redis://")})
	defer client.Close()
	buckets, err := client.Keys(t.Context(), "rate:*").Result()
	if err != nil || len(buckets) != 1 {
		t.Fatalf("got the buckets %v (%v), want one", buckets, err)
	}
	// What a bucket holds is when it is full: an hour ahead, as by a clock that was an hour ahead.
	env.MustDo(t, client.IncrByFloat(t.Context(), buckets[0], time.Hour.Seconds()).Err())
	env.Want(t, 3, takeConcurrently(t, 1, 5, r, limiter), "of 5 requests allowed once the clock was right again", "a full bucket's 3")
}

func realRedis(tb testing.TB) (url string) {
	tb.Helper()
	return env.Redis(tb).URL
}

// nobody returns the address of a Redis that does not run.
func nobody(testing.TB) (url string) { return "redis://127.0.0.1:1" }

func TestWhatIsGivenBackCanBeUsedAgain(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) (url string){
		"embedded":  env.EmbeddedRedis,
		"real":      realRedis,
		"a cluster": func(tb testing.TB) string { tb.Helper(); return env.RedisCluster(tb).URL },
		"none":      nobody,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limiter := newLimiter(t, start(t), soon, false)
			r := ratelimit.Request{Caller: "a", Limits: slow(1000, 2), Bucket: ratelimit.Detail}
			for range 5 {
				grant := limiter.Take(t.Context(), r, noon)
				if !grant.Allowed() || grant.Quota.Used != 1 {
					t.Fatalf("got %+v, want the first of the month again and again", grant.Quota)
				}
				limiter.Refund(t.Context(), &grant)
				env.Want(t, 0, grant.Quota.Used, "after it is given back", "nothing used")
			}
			limiter.Take(t.Context(), r, noon)
			limiter.Take(t.Context(), r, noon)
			if last := limiter.Take(t.Context(), r, noon); last.Allowed() {
				t.Errorf("got %+v, want the month used up", last.Quota)
			}
		})
	}
}

func TestWhatTheBucketRefusesTakesNothingFromTheMonth(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) (url string){"real": realRedis, "none": nobody} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limiter := newLimiter(t, start(t), soon, false)
			r := ratelimit.Request{Caller: "a", Limits: slow(3, 100), Bucket: ratelimit.Detail}
			env.Want(t, 3, takeConcurrently(t, 5, 4, r, limiter), "allowed")
			r.Bucket = ratelimit.Standard
			env.Want(t, 4, limiter.Take(t.Context(), r, noon).Quota.Used, "3 used before")
		})
	}
}

func TestARedisThatLostItsCountIsLiftedToTheJournal(t *testing.T) {
	t.Parallel()
	url := env.Redis(t).URL
	limiter := newLimiter(t, url, soon, false)
	store := env.Store(t, url)
	r := ratelimit.Request{Caller: "a", Limits: slow(100, 10), Bucket: ratelimit.Detail}
	takeConcurrently(t, 1, 7, r, limiter)
	env.FlushRedis(t, env.RedisClient(t, url))
	raise := func(used int64) {
		t.Helper()
		env.MustDo(t, accounts.New(store).RaiseQuotas(t.Context(), "2026-03", map[string]int64{"a": used}))
	}
	raise(7)
	raise(3) // an older journal
	env.Want(t, 3, takeConcurrently(t, 4, 4, r, limiter), "allowed", "the 3 that were left")
}

// limitTimeout is of tests of a Redis that does not answer: they end only if no request waits for it.
const limitTimeout = 40 * time.Millisecond

// wantOneBucketOrTwo checks what slow(50, …) allowed while Redis went away: a bucket there, and one here.
func wantOneBucketOrTwo(t *testing.T, allowed int64) {
	t.Helper()
	if allowed < 50 || allowed > 102 {
		t.Errorf("got %d allowed, want the requests of one bucket, or of two", allowed)
	}
}

// untilShared asks for a fresh caller until its bucket is in Redis again.
func untilShared(t *testing.T, limiter *ratelimit.Limiter, url string) {
	t.Helper()
	fresh := ratelimit.Request{Caller: "b", Limits: slow(1_000_000, 1_000_000), Bucket: ratelimit.Detail}
	client := env.RedisClient(t, url)
	env.Until(t, func() error {
		limiter.Take(t.Context(), fresh, noon)
		if n, err := client.Exists(t.Context(), "rate:"+accounts.BucketKey("b", "detail")).Result(); err != nil || n == 0 {
			return fmt.Errorf("limits are not shared again: %w", err)
		}
		return nil
	})
}

func TestNoRequestWaitsForARedisThatIsAway(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]struct{ begin, end func(*env.RedisServer) }{
		"stopped": {(*env.RedisServer).Kill, (*env.RedisServer).Restart},
		"paused":  {(*env.RedisServer).Pause, (*env.RedisServer).Resume},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := env.Redis(t)
			limiter := newLimiter(t, server.URL, limitTimeout, false)
			r := ratelimit.Request{Caller: "a", Limits: slow(50, 1_000_000), Bucket: ratelimit.Detail}
			allowed := takeConcurrently(t, 16, 10, r, limiter)
			failure.begin(server)
			allowed += takeConcurrently(t, 16, 50, r, limiter)
			failure.end(server)
			wantOneBucketOrTwo(t, allowed)
			untilShared(t, limiter, server.URL)
		})
	}
}

func TestAnAddressIsWhatTrustedProxiesSay(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, c := range map[string]struct {
		first, second [2]string
		same          bool
	}{
		"nobody's word":                  {[2]string{"192.0.2.1", ""}, [2]string{"192.0.2.1", "198.51.100.1"}, true},
		"the proxy's":                    {[2]string{"192.0.2.1", ""}, [2]string{"10.0.0.1", "192.0.2.1"}, true},
		"the last hop's":                 {[2]string{"192.0.2.1", ""}, [2]string{"10.0.0.1", "198.51.100.1, 192.0.2.1"}, true},
		"through several":                {[2]string{"192.0.2.1", ""}, [2]string{"10.0.0.1", "192.0.2.1, fd00::1 , 10.2.0.1"}, true},
		"with a port":                    {[2]string{"192.0.2.1", ""}, [2]string{"10.0.0.1", "192.0.2.1:4711"}, true},
		"IPv6 with a port":               {[2]string{"2001:db8::1", ""}, [2]string{"10.0.0.1", "[2001:db8::1]:4711, 10.2.0.1:80"}, true},
		"IPv4 in IPv6":                   {[2]string{"192.0.2.1", ""}, [2]string{"::ffff:192.0.2.1", ""}, true},
		"a proxy that knows none":        {[2]string{"10.0.0.1", ""}, [2]string{"10.0.0.1", "unknown"}, true},
		"one network of 64 bits":         {[2]string{"2001:db8::1", ""}, [2]string{"2001:db8::ffff:1", ""}, true},
		"zones":                          {[2]string{"fe80::1%eth0", ""}, [2]string{"fe80::2%eth1", ""}, true},
		"two addresses":                  {[2]string{"192.0.2.1", ""}, [2]string{"192.0.2.2", ""}, false},
		"two networks of 64 bits":        {[2]string{"2001:db8::1", ""}, [2]string{"2001:db8:0:1::1", ""}, false},
		"two addresses behind one proxy": {[2]string{"10.0.0.1", "192.0.2.1"}, [2]string{"10.0.0.1", "192.0.2.2"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env.Want(t, c.same, shared(trusted, c.first, c.second), c.first, "and", c.second, "share a bucket")
		})
	}
}

// shared says whether two requests, each a peer and what it forwards, take from one bucket.
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
