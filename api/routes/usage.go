package routes

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
	TokenID   string                `json:"tokenId"`
	Plan      ratelimit.Plan        `json:"plan"`
	Scopes    []access.Scope        `json:"scopes"`
	ExpiresAt *governance.Timestamp `json:"expiresAt"`
	Buckets   []bucketUsage         `json:"buckets"`
	Month     monthUsage            `json:"month"`
	// Days holds the current month's usage by day and route, a few seconds late.
	Days []dayUsage `json:"days"`
}

type bucketUsage struct {
	Bucket    ratelimit.Bucket `json:"bucket"`
	PerMinute string           `json:"perMinute"`
	// Limit is the burst: how many requests a full bucket allows without a pause.
	Limit     string `json:"limit"`
	Used      string `json:"used"`
	Remaining string `json:"remaining"`
	// ResetAt is when one more request is allowed than Remaining says; now, of a full bucket.
	ResetAt governance.Timestamp `json:"resetAt"`
}

type monthUsage struct {
	Month string `json:"month"`
	// Limit is how many responses the month includes; "0" for no quota.
	Limit string `json:"limit"`
	Used  string `json:"used"`
	// Remaining is how many of them are left; "0" without a quota, too.
	Remaining string               `json:"remaining"`
	ResetAt   governance.Timestamp `json:"resetAt"`
}

// dayUsage counts the requests to one route on one day.
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

func (b *Backend) usage(ctx context.Context, caller *access.Caller) (Answer, error) {
	now := b.Now()
	limits, month := caller.EffectiveLimits(), ratelimit.MonthOf(now)
	used, err := accounts.New(b.Store).QuotaUsed(ctx, caller.ID, month.String())
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return Answer{}, apierror.Unavailable(err)
	}
	view, days, err := b.daysOf(ctx, caller.ID, month)
	if err != nil {
		return Answer{}, err
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
	return Answer{Data: data, View: view}, nil
}

func (b *Backend) bucketOf(ctx context.Context, r ratelimit.Request, now time.Time) bucketUsage {
	rate, state := r.Limits.Rate(r.Bucket), b.Limiter.Peek(ctx, r, now)
	return bucketUsage{
		Bucket: r.Bucket, PerMinute: strconv.Itoa(rate.PerMinute), Limit: strconv.Itoa(rate.Burst),
		Used: strconv.Itoa(rate.Burst - state.Remaining), Remaining: strconv.Itoa(state.Remaining),
		ResetAt: governance.TimestampOf(now.Add(state.ResetAfter)),
	}
}

// daysOf reads a token's usage in a month, as the worker published it; empty before its first use.
func (b *Backend) daysOf(ctx context.Context, tokenID string, month ratelimit.Month) (cache.View, []dayUsage, error) {
	days := []dayUsage{}
	view, err := b.Store.View(ctx, cache.UsageKey(tokenID))
	if errors.Is(err, cache.ErrMiss) {
		return cache.View{DataAsOf: governance.TimestampOf(b.Now()), Readiness: governance.Ready}, days, nil
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
	return strconv.FormatUint(uint64(max(number, 0)), 10)
}
