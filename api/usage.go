package api

import (
	"context"
	"errors"
	"strconv"
	"time"

	"pnyx/access"
	"pnyx/api/apierror"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/governance"
	"pnyx/ratelimit"
)

// usage is the data of GET /v2/meta/usage: limits and usage of one token.
type usage struct {
	// TokenID is the id of the token of the request.
	TokenID string `json:"tokenId"`
	// Plan is the plan of the token.
	Plan ratelimit.Plan `json:"plan"`
	// Scopes are the effective scopes of the token.
	Scopes []access.Scope `json:"scopes"`
	// ExpiresAt is when the token expires; nil for never.
	ExpiresAt *governance.Timestamp `json:"expiresAt"`
	// Buckets holds the standard and the detail bucket of the token.
	Buckets []bucketUsage `json:"buckets"`
	// Month is the quota of the current month.
	Month monthUsage `json:"month"`
	// Days holds the usage of the current month by day and route. It lags a few seconds,
	// until nodes write their counters and the worker publishes them.
	Days []dayUsage `json:"days"`
}

// bucketUsage is the state of one bucket.
type bucketUsage struct {
	// Bucket is the name of the bucket.
	Bucket ratelimit.Bucket `json:"bucket"`
	// PerMinute is how many requests a minute are allowed on average.
	PerMinute string `json:"perMinute"`
	// Limit is the burst: how many requests a full bucket allows without a pause.
	Limit string `json:"limit"`
	// Used is how many of them are used at the moment.
	Used string `json:"used"`
	// Remaining is how many more requests are allowed without a pause.
	Remaining string `json:"remaining"`
	// ResetAt is when one more request is allowed than Remaining says; now, of a full
	// bucket.
	ResetAt governance.Timestamp `json:"resetAt"`
}

// monthUsage is the state of the month's quota.
type monthUsage struct {
	// Month is the month in UTC, as YYYY-MM.
	Month string `json:"month"`
	// Limit is how many responses the month includes; "0" for no quota.
	Limit string `json:"limit"`
	// Used is how many of them are used or reserved.
	Used string `json:"used"`
	// Remaining is how many of them are left; "0" without a quota, too.
	Remaining string `json:"remaining"`
	// ResetAt is when the month ends and the counter starts at zero again.
	ResetAt governance.Timestamp `json:"resetAt"`
}

// dayUsage counts the requests to one route on one day.
type dayUsage struct {
	// Day is a date in UTC, as YYYY-MM-DD.
	Day string `json:"day"`
	// RouteID is the id of the route.
	RouteID string `json:"routeId"`
	// Requests is the number of all responses.
	Requests string `json:"requests"`
	// OK is the number of responses with a status below 400 other than 304.
	OK string `json:"ok"`
	// NotModified is the number of responses with status 304.
	NotModified string `json:"notModified"`
	// Refused is the number of responses with a status from 400 to 499.
	Refused string `json:"refused"`
	// Failed is the number of responses with a status from 500 on.
	Failed string `json:"failed"`
	// Charged is the number of responses that count towards the quota of the month.
	Charged string `json:"charged"`
	// Bytes is the size of all bodies in bytes.
	Bytes string `json:"bytes"`
}

// usage answers GET /v2/meta/usage.
func (b *Backend) usage(ctx context.Context, caller *access.Caller) (answer, error) {
	now := b.now()
	limits, month := caller.EffectiveLimits(), ratelimit.MonthOf(now)
	used, err := accounts.New(b.store).QuotaUsed(ctx, caller.ID, month.String())
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return answer{}, apierror.Unavailable(err)
	}
	view, days, err := b.daysOf(ctx, caller.ID, month)
	if err != nil {
		return answer{}, err
	}
	quota := ratelimit.Quota{Month: month, Limit: limits.Month, Used: used}
	data := usage{
		TokenID: caller.ID, Plan: caller.Plan, Scopes: caller.Scopes, ExpiresAt: governance.OptionalTimestamp(caller.ExpiresAt),
		Month: monthUsage{
			Month: month.String(), Limit: count(quota.Limit), Used: count(quota.Used),
			Remaining: count(quota.Remaining()), ResetAt: governance.TimestampOf(month.End()),
		},
		Days: days,
	}
	for _, bucket := range []ratelimit.Bucket{ratelimit.Standard, ratelimit.Detail} {
		data.Buckets = append(data.Buckets, b.bucketOf(ctx, ratelimit.Request{Caller: caller.ID, Limits: limits, Bucket: bucket}, now))
	}
	return answer{data: data, view: view}, nil
}

// bucketOf returns the state of a bucket.
func (b *Backend) bucketOf(ctx context.Context, r ratelimit.Request, now time.Time) bucketUsage {
	rate, state := r.Limits.Rate(r.Bucket), b.limiter.Peek(ctx, r, now)
	return bucketUsage{
		Bucket: r.Bucket, PerMinute: strconv.Itoa(rate.PerMinute), Limit: strconv.Itoa(rate.Burst),
		Used: strconv.Itoa(rate.Burst - state.Remaining), Remaining: strconv.Itoa(state.Remaining),
		ResetAt: governance.TimestampOf(now.Add(state.ResetAfter)),
	}
}

// daysOf reads the usage of a token in a month, as published by the worker. It is empty
// before the first use of the token in the month.
func (b *Backend) daysOf(ctx context.Context, tokenID string, month ratelimit.Month) (cache.View, []dayUsage, error) {
	days := []dayUsage{}
	view, err := b.store.View(ctx, cache.UsageKey(tokenID))
	if errors.Is(err, cache.ErrMiss) {
		return cache.View{DataAsOf: governance.TimestampOf(b.now()), Readiness: governance.Ready}, days, nil
	}
	if err != nil {
		return cache.View{}, nil, apierror.Unavailable(err)
	}
	var published access.MonthUsage
	if err := view.Decode(&published); err != nil {
		return cache.View{}, nil, apierror.Unavailable(err)
	}
	if published.Month != month.String() {
		return view, days, nil
	}
	for _, d := range published.Days {
		days = append(days, dayUsage{
			Day: d.Day, RouteID: d.Route, Requests: count(d.Requests), OK: count(d.OK), NotModified: count(d.NotModified),
			Refused: count(d.Refused), Failed: count(d.Failed), Charged: count(d.Charged), Bytes: count(d.Bytes),
		})
	}
	return view, days, nil
}

// count formats a number for an answer; negative ones become zero.
func count[N int64 | uint64](number N) string {
	if number < 0 {
		number = 0
	}
	return strconv.FormatUint(uint64(number), 10)
}
