package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"pnyx/access"
	"pnyx/api/apierror"
	"pnyx/governance"
	"pnyx/ratelimit"
)

// The headers of draft-ietf-httpapi-ratelimit-headers-10. The quota and window of a
// policy describe a full bucket, its burst and the time to refill it, because that
// is what a caller may send in a burst. The reset of a limit, in the header and in
// resetAt alike, is when one more request is allowed than remain.
const (
	// HeaderRateLimit is what is left of the caller's limits.
	HeaderRateLimit = "RateLimit"
	// HeaderRateLimitPolicy is the size of the caller's limits.
	HeaderRateLimitPolicy = "RateLimit-Policy"
)

const monthPolicy = "month"

// setLimitHeaders sets the rate limit headers: the policies that were applied to the request, of
// its token or of the client's address, and what is left of them. Answers for everyone have them
// too: they are of the caller whose request reached the node, and caches do not store them.
func (a *admission) setLimitHeaders(c *fiber.Ctx, s *requestState) {
	var room [2][128]byte
	switch {
	case s.internal:
	case s.decided:
		setHeader(c, HeaderRateLimitPolicy, utils.UnsafeString(appendPolicies(room[0][:0], &s.grant)))
		setHeader(c, HeaderRateLimit, utils.UnsafeString(appendLimits(room[1][:0], &s.grant, s.now)))
	case s.address != ratelimit.Decision{} && a.freePolicy != "": // a payment takes from a bucket of its own
		setHeader(c, HeaderRateLimitPolicy, a.freePolicy)
		left := appendItem(room[0][:0], string(ratelimit.Free), 'r', int64(s.address.Remaining), 't', s.address.ResetAfter)
		setHeader(c, HeaderRateLimit, utils.UnsafeString(left))
	}
}

func appendPolicies(text []byte, g *ratelimit.Grant) []byte {
	bucket := g.Request.Bucket
	text = appendPolicy(text, bucket, g.Request.Limits.Rate(bucket))
	if g.Quota.Limit == 0 {
		return text
	}
	month := g.Quota.Month
	return appendItem(append(text, ", "...), monthPolicy, 'q', g.Quota.Limit, 'w', month.End().Sub(month.Begin))
}

func appendLimits(text []byte, g *ratelimit.Grant, now time.Time) []byte {
	text = appendItem(text, string(g.Request.Bucket), 'r', int64(g.Decision.Remaining), 't', g.Decision.ResetAfter)
	if g.Quota.Limit == 0 {
		return text
	}
	return appendItem(append(text, ", "...), monthPolicy, 'r', g.Quota.Remaining(), 't', g.Quota.Month.End().Sub(now))
}

func appendPolicy(text []byte, bucket ratelimit.Bucket, rate ratelimit.Rate) []byte {
	return appendItem(text, string(bucket), 'q', int64(rate.Burst), 'w', rate.Window())
}

// appendItem appends an item of a structured header: a name with a count and a time in
// seconds as parameters.
func appendItem(text []byte, name string, countKey byte, count int64, timeKey byte, d time.Duration) []byte {
	text = append(append(append(text, '"'), name...), '"', ';', countKey, '=')
	text = append(strconv.AppendInt(text, count, 10), ';', timeKey, '=')
	return strconv.AppendInt(text, int64(apierror.Seconds(d)), 10)
}

// rateLimited is the error of an empty bucket.
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

// quotaExceeded is the error of a monthly quota that is used up.
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

// limitRefusal takes from a bucket for a request that is refused before one was asked: of
// the token on a paid route, else of the client's IP address. It returns the error to
// send, which is 429 once the bucket is empty. A refusal uses nothing of the month.
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

// limitAnswer takes from the bucket of the client's IP address for a request that no bucket
// was asked for, whatever its answer is. Internal callers are not limited.
func (a *admission) limitAnswer(c *fiber.Ctx, s *requestState) error {
	if s.limited || s.internal || s.route == nil && a.internal.Accepts(c.Get(access.HeaderInternal)) {
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

// forwardedFor returns every X-Forwarded-For line of a request as one list. A proxy may
// append a line of its own instead of appending to the caller's.
func forwardedFor(c *fiber.Ctx) string {
	lines := c.Request().Header.PeekAll(fiber.HeaderXForwardedFor)
	if len(lines) < 2 {
		return c.Get(fiber.HeaderXForwardedFor)
	}
	var all strings.Builder
	for _, line := range lines {
		all.WriteByte(',')
		all.Write(line)
	}
	return all.String()
}
