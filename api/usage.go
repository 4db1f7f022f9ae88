package api

import (
	"context"
	"errors"
	"strconv"
	"time"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/governance"
	"pnyx/ratelimit"
)

// usage is what a caller may know of its own account.
type usage struct {
	TokenID   string                `json:"tokenId"`
	Plan      ratelimit.Plan        `json:"plan"`
	Scopes    []access.Scope        `json:"scopes"`
	ExpiresAt *governance.Timestamp `json:"expiresAt"`
	Buckets   []bucketUsage         `json:"buckets"`
	Month     monthUsage            `json:"month"`
	// Days is behind by the few seconds that counts take to come home.
	Days []dayUsage `json:"days"`
}

// bucketUsage is the state of one bucket.
type bucketUsage struct {
	Bucket    ratelimit.Bucket     `json:"bucket"`
	PerMinute string               `json:"perMinute"`
	Limit     string               `json:"limit"`
	Used      string               `json:"used"`
	Remaining string               `json:"remaining"`
	ResetAt   governance.Timestamp `json:"resetAt"`
}

// monthUsage is the state of the month's quota.
type monthUsage struct {
	Month     string               `json:"month"`
	Limit     string               `json:"limit"`
	Used      string               `json:"used"`
	Remaining string               `json:"remaining"`
	ResetAt   governance.Timestamp `json:"resetAt"`
}

// dayUsage is what was asked of one route on one day.
type dayUsage struct {
	Day         string `json:"day"`
	RouteID     string `json:"routeId"`
	Requests    string `json:"requests"`
	OK          string `json:"ok"`
	NotModified string `json:"notModified"`
	Refused     string `json:"refused"`
	Failed      string `json:"failed"`
	Charged     string `json:"charged"`
	Bytes       string `json:"bytes"`
}

// usage answers GET /v2/meta/usage.
func (a *API) usage(ctx context.Context, caller *access.Caller) (answer, error) {
	now := a.now()
	limits, month := caller.EffectiveLimits(), ratelimit.MonthOf(now)
	used, err := accounts.New(a.store).QuotaUsed(ctx, caller.ID, month.String())
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return answer{}, unavailable(err)
	}
	view, days, err := a.daysOf(ctx, caller.ID, month)
	if err != nil {
		return answer{}, err
	}
	quota := ratelimit.Quota{Month: month, Limit: limits.Month, Used: used}
	data := usage{
		TokenID: caller.ID, Plan: caller.Plan, Scopes: caller.Scopes, ExpiresAt: stampOf(caller.ExpiresAt),
		Month: monthUsage{
			Month: month.String(), Limit: count(quota.Limit), Used: count(quota.Used),
			Remaining: count(quota.Remaining()), ResetAt: governance.TimestampOf(month.End()),
		},
		Days: days,
	}
	for _, bucket := range []ratelimit.Bucket{ratelimit.Standard, ratelimit.Detail} {
		data.Buckets = append(data.Buckets, a.bucketOf(ctx, ratelimit.Request{Caller: caller.ID, Limits: limits, Bucket: bucket}, now))
	}
	return answer{data: data, view: view}, nil
}

// bucketOf says where a bucket stands.
func (a *API) bucketOf(ctx context.Context, r ratelimit.Request, now time.Time) bucketUsage {
	rate, stands := r.Limits.Rate(r.Bucket), a.limiter.Peek(ctx, r, now)
	return bucketUsage{
		Bucket: r.Bucket, PerMinute: strconv.Itoa(rate.PerMinute), Limit: strconv.Itoa(rate.Burst),
		Used: strconv.Itoa(rate.Burst - stands.Remaining), Remaining: strconv.Itoa(stands.Remaining),
		ResetAt: governance.TimestampOf(now.Add(stands.ResetAfter)),
	}
}

// daysOf reads what the worker has published of a token's month. There is nothing
// before its first use.
func (a *API) daysOf(ctx context.Context, tokenID string, month ratelimit.Month) (cache.View, []dayUsage, error) {
	days := []dayUsage{}
	view, err := a.store.View(ctx, cache.UsageKey(tokenID))
	if errors.Is(err, cache.ErrMiss) {
		return cache.View{DataAsOf: governance.TimestampOf(a.now()), Readiness: governance.Ready}, days, nil
	}
	if err != nil {
		return cache.View{}, nil, unavailable(err)
	}
	var published access.MonthUsage
	if err := view.Decode(&published); err != nil {
		return cache.View{}, nil, unavailable(err)
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

// count is a number as answers show it.
func count[N int64 | uint64](number N) string {
	if number < 0 {
		number = 0
	}
	return strconv.FormatUint(uint64(number), 10)
}

func stampOf(moment *time.Time) *governance.Timestamp {
	if moment == nil {
		return nil
	}
	stamp := governance.TimestampOf(*moment)
	return &stamp
}
