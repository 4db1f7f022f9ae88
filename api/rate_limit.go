package api

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"pnyx/access"
	"pnyx/api/apierror"
	"pnyx/governance"
	"pnyx/ratelimit"
)

// The headers of draft-ietf-httpapi-ratelimit-headers-10. A policy's quota and window describe a full bucket, its
// burst and the time to refill it: what may be sent at once. The reset of a limit, as resetAt, is when one more
// request is allowed than remain.
const (
	// HeaderRateLimit is what is left of the caller's limits.
	HeaderRateLimit = "RateLimit"
	// HeaderRateLimitPolicy is the size of the caller's limits.
	HeaderRateLimitPolicy = "RateLimit-Policy"
)

const monthPolicy = "month"

// setLimitHeaders sets the policies that were applied to the request, of its token or of the client's address, and
// what is left of them. Answers for everyone have them, too: caches do not store these headers.
func (a *admission) setLimitHeaders(c *fiber.Ctx, s *requestState) {
	switch {
	case s.internal:
	case s.decided:
		bucket, month := s.grant.Request.Bucket, s.grant.Quota.Month
		policy := policyOf(bucket, s.grant.Request.Limits.Rate(bucket))
		left := leftOf(string(bucket), int64(s.grant.Decision.Remaining), s.grant.Decision.ResetAfter)
		if s.grant.Quota.Limit > 0 {
			policy += ", " + limitItem(monthPolicy, "q", s.grant.Quota.Limit, "w", month.End().Sub(month.Begin))
			left += ", " + leftOf(monthPolicy, s.grant.Quota.Remaining(), month.End().Sub(s.now))
		}
		setHeader(c, HeaderRateLimitPolicy, policy)
		setHeader(c, HeaderRateLimit, left)
	case s.address != ratelimit.Decision{} && a.freePolicy != "": // a payment takes from a bucket of its own
		setHeader(c, HeaderRateLimitPolicy, a.freePolicy)
		setHeader(c, HeaderRateLimit, leftOf(string(ratelimit.Free), int64(s.address.Remaining), s.address.ResetAfter))
	}
}

func policyOf(bucket ratelimit.Bucket, rate ratelimit.Rate) string {
	return limitItem(string(bucket), "q", int64(rate.Burst), "w", rate.Window())
}

func leftOf(name string, remaining int64, reset time.Duration) string {
	return limitItem(name, "r", remaining, "t", reset)
}

// limitItem is an item of a structured header: a name with a count and a time in seconds as parameters.
func limitItem(name, countKey string, count int64, timeKey string, d time.Duration) string {
	return `"` + name + `";` + countKey + "=" + strconv.FormatInt(count, 10) + ";" + timeKey + "=" + strconv.Itoa(apierror.Seconds(d))
}

func rateLimited(plan string, bucket ratelimit.Bucket, rate ratelimit.Rate, d ratelimit.Decision, now time.Time) *apierror.Error {
	return &apierror.Error{
		Status: http.StatusTooManyRequests, Code: apierror.CodeRateLimited,
		Message:    fmt.Sprintf("too many requests: the %s bucket allows %d a minute, %d at once", bucket, rate.PerMinute, rate.Burst),
		RetryAfter: d.RetryAfter,
		Details: apierror.RateDetails{
			Plan: plan, Bucket: bucket, Limit: rate.PerMinute, Burst: rate.Burst, Remaining: d.Remaining,
			ResetAt: governance.TimestampOf(now.Add(d.ResetAfter)),
		},
	}
}

func quotaExceeded(plan string, q ratelimit.Quota, now time.Time) *apierror.Error {
	return &apierror.Error{
		Status: http.StatusTooManyRequests, Code: apierror.CodeQuotaExceeded,
		Message:    fmt.Sprintf("the %d answers of %s are used up", q.Limit, q.Month),
		RetryAfter: q.Month.End().Sub(now),
		Details: apierror.QuotaDetails{
			Plan: plan, Bucket: monthPolicy, Limit: q.Limit, ResetAt: governance.TimestampOf(q.Month.End()),
		},
	}
}

// limitRefusal takes from a bucket for a request that is refused before one was asked: of the token on a paid
// route, else of the client's address. It returns the error to send, 429 once the bucket is empty. It leaves the
// month alone.
func (a *admission) limitRefusal(c *fiber.Ctx, s *requestState, refused *apierror.Error) *apierror.Error {
	var err error
	if !s.limited && !s.internal && s.caller != nil && s.route.Paid() {
		limits := s.caller.EffectiveLimits()
		limits.Month = 0
		err = a.limitCaller(c.UserContext(), s, limits)
	} else {
		err = a.limitAnswer(c, s)
	}
	if limited, is := errors.AsType[*apierror.Error](err); is {
		return limited
	}
	return refused
}

// limitAnswer takes from the bucket of the address if no bucket was asked, except for internal callers.
func (a *admission) limitAnswer(c *fiber.Ctx, s *requestState) error {
	if s.limited || s.internal || s.route == nil && a.Internal.Accepts(c.Get(access.HeaderInternal)) {
		return nil
	}
	if s.now.IsZero() {
		s.now = a.now()
	}
	return a.limitIP(c, s)
}

// peerOf returns the address of the other end of the connection.
func peerOf(c *fiber.Ctx) netip.Addr {
	peer, _ := netip.AddrFromSlice(c.Context().RemoteIP()) //nolint:forbidigo // fasthttp knows the connection
	return peer
}

// forwardedFor returns all X-Forwarded-For lines as one list: a proxy may append a line of its own.
func forwardedFor(c *fiber.Ctx) string {
	return string(bytes.Join(c.Request().Header.PeekAll(fiber.HeaderXForwardedFor), []byte(",")))
}
