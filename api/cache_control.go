package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/governance"
)

// Values of Vary. Internal callers get the same answer, and so do all callers of free
// routes.
const (
	varyPublic      = fiber.HeaderAcceptEncoding
	varyCredentials = varyPublic + ", " + access.HeaderToken + ", " + x402.HeaderPayment
)

// setVary sets Vary to the request headers that any answer of the route depends on.
func setVary(c *fiber.Ctx, s *requestState) {
	if (s.route.Paid() || s.route.TokenOnly) && !s.internal {
		setHeader(c, fiber.HeaderVary, varyCredentials)
		return
	}
	setHeader(c, fiber.HeaderVary, varyPublic)
}

// setCacheControl sets who may cache an answer and for how long, its surrogate keys,
// and its Cache-Status. Answers for one token have no surrogate keys.
func (a *API) setCacheControl(c *fiber.Ctx, s *requestState, found *rendered) {
	switch {
	case s.charge != nil, s.route.TokenOnly:
		c.Set(fiber.HeaderCacheControl, PrivateNoStore)
	case s.route.Paid():
		setHeader(c, fiber.HeaderCacheControl, found.control)
	default:
		control, lifetime := found.control, a.sharedLifetime(s.route, found, s.readiness)
		if lifetime != s.route.Fresh.SMaxAge {
			control = s.route.Fresh.Public(lifetime)
		}
		setHeader(c, fiber.HeaderCacheControl, control)
		a.setAccelExpires(c, lifetime) // after Cache-Control: nginx obeys the last of the two
	}
	if s.route.TokenOnly {
		return
	}
	a.setSurrogateKeys(c, found.keys)
	setHeader(c, HeaderCacheStatus, found.status)
}

// setSurrogateKeys sets the headers by which caches purge answers, where any are purged.
func (a *API) setSurrogateKeys(c *fiber.Ctx, keys surrogateKeys) {
	if !a.purgeEnabled {
		return
	}
	setHeader(c, HeaderSurrogateKey, keys.spaced)
	setHeader(c, HeaderCacheTag, keys.joined)
}

// setMissingKeys sets the surrogate keys of a 404, so that the publication that adds
// what is missing purges it.
func (a *API) setMissingKeys(c *fiber.Ctx, r *request, err error) {
	if e, is := errors.AsType[*Error](err); is && e.Status == http.StatusNotFound {
		a.setSurrogateKeys(c, surrogateKeysOf(r))
	}
}

// errorCacheControl returns the Cache-Control of an error. Only a 404 may be cached; the
// 404 of a paid route was paid for, and only its caller may cache it.
func errorCacheControl(c *fiber.Ctx, s *requestState, status int) string {
	reads := c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead
	if status != http.StatusNotFound || !reads {
		return noStore
	}
	switch {
	case s.route == nil:
		fresh := UnknownPathFreshness()
		return fresh.Public(fresh.SMaxAge)
	case s.charge != nil:
		return PrivateNoStore
	case s.route.Paid():
		return MissingFreshness().Private()
	}
	fresh := MissingFreshness()
	return fresh.Public(fresh.SMaxAge)
}

// setDocumentCaching sets the Cache-Control of documents.
func setDocumentCaching(c *fiber.Ctx) {
	fresh := DocumentFreshness()
	c.Set(fiber.HeaderCacheControl, fresh.Public(fresh.SMaxAge))
}

// sharedLifetime returns how long a shared cache may keep an answer; of a paid route, an
// edge that has every request authorized. An answer that is not ready may change
// without a publication that purges it, and an answer that time alone makes wrong is
// kept until then at most.
func (a *API) sharedLifetime(route *Route, found *rendered, readiness governance.Readiness) time.Duration {
	fresh := route.Fresh
	if !a.purgeEnabled || readiness != governance.Ready {
		return fresh.SMaxAge
	}
	lifetime := fresh.PurgedSMaxAge
	if until := found.view.FreshUntil; until != nil {
		lifetime = min(lifetime, until.Time().Sub(a.now()).Truncate(time.Second))
	}
	return max(fresh.SMaxAge, lifetime)
}
