package api

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/gofiber/fiber/v2"

	"pnyx/access"
	"pnyx/api/apierror"
)

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
