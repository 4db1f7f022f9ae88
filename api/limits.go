package api

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"pnyx/governance"
	"pnyx/ratelimit"
)

// The headers of draft-ietf-httpapi-ratelimit-headers-10. A policy's quota and
// window are those of a whole bucket, its burst and the time to fill it, since that
// is what may be asked at once.
const (
	headerLimits = "RateLimit"
	headerPolicy = "RateLimit-Policy"
)

// monthPolicy names the monthly quota among the policies.
const monthPolicy = "month"

// tellLimits tells a caller about the limits: where it stands, on answers that are
// its own; on answers for everyone only what holds for everyone.
func (a *API) tellLimits(c *fiber.Ctx, p *pass) {
	switch {
	case p.internal:
	case p.grant != nil:
		policy, state := describe(p.grant, a.now())
		setPlain(c, headerPolicy, policy)
		setPlain(c, headerLimits, state)
	case p.route.Tier == Free:
		if a.freePolicy != "" {
			setPlain(c, headerPolicy, a.freePolicy)
		}
	}
}

// describe returns the policies that a request was held to, and where it stands.
func describe(g *ratelimit.Grant, now time.Time) (policy, state string) {
	bucket := g.Request.Bucket
	policy = bucketPolicy(bucket, g.Request.Limits.Rate(bucket))
	state = limitItem(string(bucket), "r", int64(g.Decision.Remaining), "t", g.Decision.ResetAfter)
	if g.Quota.Limit == 0 {
		return policy, state
	}
	begin, end := g.Quota.Month.Begin, g.Quota.Month.End()
	policy += ", " + limitItem(monthPolicy, "q", g.Quota.Limit, "w", end.Sub(begin))
	state += ", " + limitItem(monthPolicy, "r", g.Quota.Remaining(), "t", end.Sub(now))
	return policy, state
}

func bucketPolicy(bucket ratelimit.Bucket, rate ratelimit.Rate) string {
	return limitItem(string(bucket), "q", int64(rate.Burst), "w", rate.Window())
}

// limitItem is a name with a count and a time in seconds, as structured headers have
// it.
func limitItem(name, countKey string, count int64, timeKey string, d time.Duration) string {
	return `"` + name + `";` + countKey + "=" + strconv.FormatInt(count, 10) + ";" + timeKey + "=" + strconv.Itoa(seconds(d))
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
