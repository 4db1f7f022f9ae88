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

// restAfterError is how long Redis is left alone after it did not answer. Then one
// request tries, and the others go on without.
const restAfterError = 250 * time.Millisecond

// Options says where buckets and quotas are kept.
type Options struct {
	// Pipeline leads to Redis.
	Pipeline *cache.Pipeline
	// PerProcess gives each process buckets of its own. Quotas hold for all anyway.
	PerProcess bool
	Logger     *slog.Logger
	Metrics    prometheus.Registerer
}

// Limiter says which requests are within their limits.
type Limiter struct {
	pipeline   *cache.Pipeline
	perProcess bool
	buckets    *Buckets[string]
	tallies    tallies
	// restUntil is when Redis is asked again, in Unix nanoseconds; zero while it
	// answers.
	restUntil atomic.Int64
	logger    *slog.Logger
	metrics   metrics
}

// New returns a limiter.
func New(o Options) *Limiter {
	l := &Limiter{
		pipeline: o.Pipeline, perProcess: o.PerProcess, buckets: NewBuckets[string](), logger: o.Logger,
	}
	l.metrics = newMetrics(o.Metrics, l)
	return l
}

// Request is what is to be within limits.
type Request struct {
	// Caller is whose buckets and quota it is.
	Caller string
	Limits Limits
	Bucket Bucket
	// Plan is counted, and bounds nothing: Limits do.
	Plan Plan
}

// Grant is what the limiter says to a request.
type Grant struct {
	Request  Request
	Decision Decision
	Quota    Quota
	// own says that it was this process alone that reserved.
	own bool
}

// Allowed says whether the request is within all its limits.
func (g Grant) Allowed() bool {
	return g.Decision.Allowed && !g.Quota.Refused
}

// Take takes a token out of a bucket and reserves an answer of the month. What is
// refused takes nothing from the month.
func (l *Limiter) Take(ctx context.Context, r Request, now time.Time) Grant {
	grant, answered := l.tryShared(ctx, r, now)
	if !answered {
		l.metrics.fallbacks.Inc()
		grant = l.takeOwn(r, now)
	}
	if !grant.Decision.Allowed && r.Limits.Month > 0 && !grant.Quota.Refused {
		l.Refund(ctx, &grant)
	}
	l.metrics.observe(grant)
	return grant
}

// Refund returns the answer of the month that a grant has reserved.
func (l *Limiter) Refund(ctx context.Context, g *Grant) {
	if g.Request.Limits.Month == 0 {
		return
	}
	g.Quota.Used = max(0, g.Quota.Used-1)
	if g.own || l.restUntil.Load() != 0 {
		l.tallies.giveBack(g.Request.Caller, g.Quota.Month)
		return
	}
	used, err := returnShared(ctx, l.pipeline, accounts.QuotaKey(g.Request.Caller, g.Quota.Month.String()))
	if err != nil {
		l.rest(ctx, err)
		return
	}
	g.Quota.Used = used
	l.tallies.note(g.Request.Caller, g.Quota)
}

// Peek says where a bucket stands, without taking anything.
func (l *Limiter) Peek(ctx context.Context, r Request, now time.Time) Decision {
	if !l.perProcess && l.restUntil.Load() == 0 {
		decision, err := takeShared(ctx, l.pipeline, r, 0, nil)
		if err == nil {
			return decision
		}
		l.rest(ctx, err)
	}
	return l.buckets.Peek(ownKey(r), r.Limits.Rate(r.Bucket), now)
}

// tryShared asks Redis, unless it is left alone at the moment.
func (l *Limiter) tryShared(ctx context.Context, r Request, now time.Time) (Grant, bool) {
	if !l.mayAsk(time.Now()) {
		return Grant{}, false
	}
	grant, err := l.takeShared(ctx, r, now)
	if err != nil {
		l.rest(ctx, err)
		return Grant{}, false
	}
	if l.restUntil.Load() != 0 {
		l.restUntil.Store(0)
		l.logger.LogAttrs(ctx, slog.LevelInfo, "limits are shared again")
	}
	return grant, true
}

func (l *Limiter) takeShared(ctx context.Context, r Request, now time.Time) (Grant, error) {
	grant := Grant{Request: r, Quota: Quota{Month: MonthOf(now), Limit: r.Limits.Month}}
	if r.Limits.Month == 0 {
		var err error
		grant.Decision, err = l.takeBucket(ctx, r, nil, now)
		return grant, err
	}
	key := accounts.QuotaKey(r.Caller, grant.Quota.Month.String())
	reservation := reserveCommand(ctx, key)
	var err error
	if grant.Decision, err = l.takeBucket(ctx, r, reservation, now); err != nil {
		return Grant{}, err
	}
	if grant.Quota.Used, err = reservation.Result(); err != nil {
		return Grant{}, fmt.Errorf("%w: %w", cache.ErrUnavailable, err)
	}
	if grant.Quota.Used == 1 {
		err = keep(ctx, l.pipeline, key)
	}
	if grant.Quota.Refused = grant.Quota.Used > grant.Quota.Limit; grant.Quota.Refused {
		grant.Quota.Used, err = returnShared(ctx, l.pipeline, key)
	}
	if err != nil {
		return Grant{}, err
	}
	l.tallies.note(r.Caller, grant.Quota)
	return grant, nil
}

// takeBucket takes a token where buckets are kept, and sends a command to Redis
// along with that.
func (l *Limiter) takeBucket(ctx context.Context, r Request, along redis.Cmder, now time.Time) (Decision, error) {
	if !l.perProcess {
		return takeShared(ctx, l.pipeline, r, 1, along)
	}
	if along != nil {
		if err := l.pipeline.Send(ctx, along); err != nil {
			return Decision{}, err
		}
	}
	return l.buckets.Take(ownKey(r), r.Limits.Rate(r.Bucket), now), nil
}

// takeOwn is Take without Redis.
func (l *Limiter) takeOwn(r Request, now time.Time) Grant {
	grant := Grant{
		Request: r, own: true, Quota: Quota{Month: MonthOf(now)},
		Decision: l.buckets.Take(ownKey(r), r.Limits.Rate(r.Bucket), now),
	}
	if r.Limits.Month > 0 {
		grant.Quota = l.tallies.reserve(r.Caller, r.Limits.Month, grant.Quota.Month)
	}
	return grant
}

func ownKey(r Request) string {
	return r.Caller + ":" + string(r.Bucket)
}

// mayAsk says whether Redis is to be asked: always while it answers, else by one
// request at a time.
func (l *Limiter) mayAsk(now time.Time) bool {
	until := l.restUntil.Load()
	if until == 0 {
		return true
	}
	return now.UnixNano() >= until && l.restUntil.CompareAndSwap(until, now.Add(restAfterError).UnixNano())
}

// rest leaves Redis alone for a while.
func (l *Limiter) rest(ctx context.Context, err error) {
	if l.restUntil.Swap(time.Now().Add(restAfterError).UnixNano()) == 0 {
		l.logger.LogAttrs(ctx, slog.LevelWarn, "limits are kept by this process alone", slog.Any("error", err))
	}
}
