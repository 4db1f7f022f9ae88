package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/cache/accounts"
)

// backOffInterval is how long the limiter sends nothing to Redis after an error. Then one request tries again,
// while the others keep using local buckets.
const backOffInterval = 250 * time.Millisecond

// Options configures a Limiter.
type Options struct {
	Pipeline *cache.Pipeline
	// PerProcess keeps buckets in each process instead of Redis. Quotas always hold for all processes.
	PerProcess bool
	Logger     *slog.Logger
	Metrics    prometheus.Registerer
}

// Limiter enforces buckets and quotas. It is safe for concurrent use.
type Limiter struct {
	Options
	buckets *Buckets[string]
	quotas  localQuotas
	// retryAt is how long after madeAt Redis is tried again, in nanoseconds, and zero while it answers. Setting
	// the machine's clock moves neither.
	madeAt  time.Time
	retryAt atomic.Int64
	metrics metrics
}

// New returns a limiter.
func New(o Options) *Limiter {
	l := &Limiter{Options: o, buckets: NewBuckets[string](), madeAt: time.Now()}
	l.metrics = newMetrics(o.Metrics, l)
	return l
}

// Request is a request whose limits are checked.
type Request struct {
	// Caller identifies the owner of buckets and quota.
	Caller string
	Limits Limits
	Bucket Bucket
	// Further is how many tokens are taken besides the request's own, for requests that follow and have a Further
	// of -1: all of them are within the limit, or none takes a token.
	Further int
	// Plan labels the metrics. It sets no limit: Limits do.
	Plan Plan
}

// Grant is the decision about a request.
type Grant struct {
	Request  Request
	Decision Decision
	Quota    Quota
	// local means that the response is reserved in this process only.
	local bool
}

// tokens returns how many tokens the request takes: at most what the bucket holds.
func (r Request) tokens() int { return min(1+r.Further, r.Limits.Rate(r.Bucket).Burst) }

// Allowed reports whether the request is within all its limits.
func (g Grant) Allowed() bool { return g.Decision.Allowed && !g.Quota.Refused }

// Take takes a token from the bucket and a response of the month, unless it refuses the request.
func (l *Limiter) Take(ctx context.Context, r Request, now time.Time) Grant {
	grant, ok := l.tryShared(ctx, r, now)
	if !ok {
		l.metrics.fallbacks.Inc()
		grant = l.takeLocal(r, now)
	}
	if !grant.Decision.Allowed && r.Limits.Month > 0 && !grant.Quota.Refused {
		l.Refund(ctx, &grant)
	}
	l.metrics.observe(grant)
	return grant
}

// Refund returns the response of the month that a grant has reserved.
func (l *Limiter) Refund(ctx context.Context, g *Grant) {
	if g.Request.Limits.Month == 0 {
		return
	}
	g.Quota.Used = max(0, g.Quota.Used-1)
	if g.local || l.retryAt.Load() != 0 {
		l.quotas.refund(g.Request.Caller, g.Quota.Month)
		return
	}
	used, err := refundShared(ctx, l.Pipeline, accounts.QuotaKey(g.Request.Caller, g.Quota.Month.String()))
	if err != nil {
		l.backOff(ctx, err)
		return
	}
	g.Quota.Used = used
	l.quotas.set(g.Request.Caller, g.Quota)
}

// Peek returns the state of a bucket without taking a token.
func (l *Limiter) Peek(ctx context.Context, r Request, now time.Time) Decision {
	if !l.PerProcess && l.retryAt.Load() == 0 {
		decision, err := takeShared(ctx, l.Pipeline, r, 0, nil)
		if err == nil {
			return decision
		}
		l.backOff(ctx, err)
	}
	return l.buckets.Peek(localKey(r), r.Limits.Rate(r.Bucket), now)
}

// tryShared takes from Redis. It returns false when Redis does not answer, or did not answer a moment ago.
func (l *Limiter) tryShared(ctx context.Context, r Request, now time.Time) (Grant, bool) {
	if !l.mayTry() {
		return Grant{}, false
	}
	grant, err := l.takeShared(ctx, r, now)
	if err != nil {
		l.backOff(ctx, err)
		return Grant{}, false
	}
	if l.retryAt.Load() != 0 {
		l.retryAt.Store(0)
		l.Logger.LogAttrs(ctx, slog.LevelInfo, "Redis available, rate limits are shared again")
	}
	return grant, true
}

func (l *Limiter) takeShared(ctx context.Context, r Request, now time.Time) (Grant, error) {
	grant := Grant{Request: r, Quota: Quota{Month: MonthOf(now), Limit: r.Limits.Month}}
	if r.Limits.Month == 0 {
		var err error
		grant.Decision, err = takeBucket(ctx, l, r, nil, now)
		return grant, err
	}
	key := accounts.QuotaKey(r.Caller, grant.Quota.Month.String())
	reservation := redis.NewIntCmd(ctx, "incr", string(key))
	var err error
	if grant.Decision, err = takeBucket(ctx, l, r, reservation, now); err != nil {
		return Grant{}, err
	}
	if grant.Quota.Used, err = reservation.Result(); err != nil {
		return Grant{}, fmt.Errorf("%w: %w", cache.ErrUnavailable, err)
	}
	if grant.Quota.Used == 1 {
		err = cache.Send(ctx, l.Pipeline, redis.NewBoolCmd(ctx, "expire", string(key), int(accounts.QuotaTTL.Seconds())))
	}
	if grant.Quota.Refused = grant.Quota.Used > grant.Quota.Limit; grant.Quota.Refused {
		grant.Quota.Used, err = refundShared(ctx, l.Pipeline, key)
	}
	if err != nil {
		return Grant{}, err
	}
	l.quotas.set(r.Caller, grant.Quota)
	return grant, nil
}

// takeBucket takes a token where buckets are kept. piggyback goes to Redis in the same round trip; nil for none.
func takeBucket(
	ctx context.Context, l *Limiter, r Request, piggyback redis.Cmder, now time.Time,
) (Decision, error) {
	if !l.PerProcess {
		return takeShared(ctx, l.Pipeline, r, r.tokens(), piggyback)
	}
	if piggyback != nil {
		if err := cache.Send(ctx, l.Pipeline, piggyback); err != nil {
			return Decision{}, err
		}
	}
	return l.buckets.TakeN(localKey(r), r.Limits.Rate(r.Bucket), r.tokens(), now), nil
}

// takeLocal is Take without Redis.
func (l *Limiter) takeLocal(r Request, now time.Time) Grant {
	grant := Grant{
		Request: r, local: true, Quota: Quota{Month: MonthOf(now)},
		Decision: l.buckets.TakeN(localKey(r), r.Limits.Rate(r.Bucket), r.tokens(), now),
	}
	if r.Limits.Month > 0 {
		grant.Quota = l.quotas.reserve(r.Caller, r.Limits.Month, grant.Quota.Month)
	}
	return grant
}

func localKey(r Request) string { return r.Caller + ":" + string(r.Bucket) }

// mayTry reports whether a request may use Redis: always while Redis answers, else one request per
// backOffInterval.
func (l *Limiter) mayTry() bool {
	at := l.retryAt.Load()
	if at == 0 {
		return true
	}
	now := time.Since(l.madeAt)
	return int64(now) >= at && l.retryAt.CompareAndSwap(at, int64(now+backOffInterval))
}

func (l *Limiter) backOff(ctx context.Context, err error) {
	if l.retryAt.Swap(int64(time.Since(l.madeAt)+backOffInterval)) == 0 {
		l.Logger.LogAttrs(ctx, slog.LevelWarn, "Redis unavailable, rate limits fall back to in-process buckets",
			slog.Any("error", err))
	}
}
