package api

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"pnyx/governance"
	"pnyx/ratelimit"
)

// The headers of draft-ietf-httpapi-ratelimit-headers-10. A policy's quota and
// window are those of a whole bucket, its burst and the time to fill it, since that
// is what may be asked at once.
const (
	HeaderRateLimit       = "RateLimit"
	HeaderRateLimitPolicy = "RateLimit-Policy"
)

// monthPolicy names the monthly quota among the policies.
const monthPolicy = "month"

// setLimitHeaders tells a caller about the limits: where it stands, on answers that are
// its own; on answers for everyone only what holds for everyone.
func (a *API) setLimitHeaders(c *fiber.Ctx, p *requestState) {
	switch {
	case p.internal:
	case p.grant != nil:
		var room [2][128]byte
		setHeader(c, HeaderRateLimitPolicy, utils.UnsafeString(appendPolicies(room[0][:0], p.grant)))
		setHeader(c, HeaderRateLimit, utils.UnsafeString(appendLimits(room[1][:0], p.grant, p.now)))
	case p.route.Tier == Free:
		if a.freePolicy != "" {
			setHeader(c, HeaderRateLimitPolicy, a.freePolicy)
		}
	}
}

// appendPolicies writes the policies that a request was held to.
func appendPolicies(text []byte, g *ratelimit.Grant) []byte {
	bucket := g.Request.Bucket
	text = appendPolicy(text, bucket, g.Request.Limits.Rate(bucket))
	if g.Quota.Limit == 0 {
		return text
	}
	month := g.Quota.Month
	return appendItem(append(text, ", "...), monthPolicy, 'q', g.Quota.Limit, 'w', month.End().Sub(month.Begin))
}

// appendLimits writes where a request stands.
func appendLimits(text []byte, g *ratelimit.Grant, now time.Time) []byte {
	text = appendItem(text, string(g.Request.Bucket), 'r', int64(g.Decision.Remaining), 't', g.Decision.ResetAfter)
	if g.Quota.Limit == 0 {
		return text
	}
	return appendItem(append(text, ", "...), monthPolicy, 'r', g.Quota.Remaining(), 't', g.Quota.Month.End().Sub(now))
}

// appendPolicy writes the size of a bucket.
func appendPolicy(text []byte, bucket ratelimit.Bucket, rate ratelimit.Rate) []byte {
	return appendItem(text, string(bucket), 'q', int64(rate.Burst), 'w', rate.Window())
}

// appendItem writes a name with a count and a time in seconds, as structured headers
// have it.
func appendItem(text []byte, name string, countKey byte, count int64, timeKey byte, d time.Duration) []byte {
	text = append(append(append(text, '"'), name...), '"', ';', countKey, '=')
	text = append(strconv.AppendInt(text, count, 10), ';', timeKey, '=')
	return strconv.AppendInt(text, int64(seconds(d)), 10)
}

// seconds rounds up: who waits that long has waited long enough.
func seconds(d time.Duration) int {
	return int((d + time.Second - 1) / time.Second)
}

// rateLimited is the error of a bucket that is empty.
func rateLimited(plan string, bucket ratelimit.Bucket, rate ratelimit.Rate, d ratelimit.Decision, now time.Time) *Error {
	return &Error{
		Status: http.StatusTooManyRequests, Code: CodeRateLimited,
		Message:    fmt.Sprintf("too many requests: the %s bucket allows %d a minute, %d at once", bucket, rate.PerMinute, rate.Burst),
		RetryAfter: d.RetryAfter,
		Details: map[string]any{
			"plan": plan, "bucket": bucket, "limit": rate.PerMinute, "burst": rate.Burst, "remaining": d.Remaining,
			"resetAt": governance.TimestampOf(now.Add(d.RetryAfter)),
		},
	}
}

// quotaExceeded is the error of a month that is used up.
func quotaExceeded(plan string, q ratelimit.Quota, now time.Time) *Error {
	return &Error{
		Status: http.StatusTooManyRequests, Code: CodeQuotaExceeded,
		Message:    fmt.Sprintf("the %d answers of %s are used up", q.Limit, q.Month),
		RetryAfter: q.Month.End().Sub(now),
		Details: map[string]any{
			"plan": plan, "bucket": monthPolicy, "limit": q.Limit, "remaining": 0,
			"resetAt": governance.TimestampOf(q.Month.End()),
		},
	}
}
