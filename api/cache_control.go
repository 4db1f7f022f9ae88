package api

import (
	"errors"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/governance"
)

// What answers differ by, beside the address. Every caller who is nobody in
// particular gets the same; so does every internal one.
const (
	varyPublic      = fiber.HeaderAcceptEncoding
	varyCredentials = varyPublic + ", " + access.HeaderToken + ", " + x402.HeaderPayment
)

// setVary says by which headers of the request the answer was chosen, whatever it is.
func (p *requestState) setVary(c *fiber.Ctx) {
	if (p.route.Paid() || p.route.TokenOnly) && !p.internal {
		setHeader(c, fiber.HeaderVary, varyCredentials)
		return
	}
	setHeader(c, fiber.HeaderVary, varyPublic)
}

// setCacheControl says who may keep an answer, for how long, what makes it wrong, and
// which caches were asked for it. What is the caller's alone has no name and is not
// kept.
func (a *API) setCacheControl(c *fiber.Ctx, p *requestState, found *rendered, readiness governance.Readiness) {
	switch {
	case p.charge != nil, p.route.TokenOnly:
		c.Set(fiber.HeaderCacheControl, PrivateNoStore)
	case p.route.Paid():
		setHeader(c, fiber.HeaderCacheControl, found.control)
	default:
		control, lifetime := found.control, a.sharedLifetime(p.route, found, readiness)
		if lifetime != p.route.Fresh.SMaxAge {
			control = p.route.Fresh.Public(lifetime)
		}
		setHeader(c, fiber.HeaderCacheControl, control)
		setAccelExpires(c, lifetime) // after it: what nginx reads last holds
	}
	if p.route.TokenOnly {
		return
	}
	setSurrogateKeys(c, found.tags)
	setHeader(c, HeaderCacheStatus, found.status)
}

func setSurrogateKeys(c *fiber.Ctx, tags surrogateKeys) {
	setHeader(c, HeaderSurrogateKey, tags.spaced)
	setHeader(c, HeaderCacheTag, tags.joined)
}

// setMissingKeys says what will end a 404, so that a cache which keeps it can be told.
func setMissingKeys(c *fiber.Ctx, values Values, err error) {
	if e, is := errors.AsType[*Error](err); is && e.Status == http.StatusNotFound {
		setSurrogateKeys(c, surrogateKeysOf(values))
	}
}

// errorControl says who may keep an error. Only what is not there is the same for
// everyone and for a while; of a paid route it was paid for.
func errorControl(c *fiber.Ctx, status int) string {
	reads := c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead
	if status != http.StatusNotFound || !reads {
		return noStore
	}
	p, routed := c.Locals(requestStateKey{}).(*requestState)
	switch {
	case !routed:
		fresh := UnknownPathFreshness()
		return fresh.Public(fresh.SMaxAge)
	case p.charge != nil:
		return PrivateNoStore
	case p.route.Paid():
		return MissingFreshness().Private()
	}
	fresh := MissingFreshness()
	return fresh.Public(fresh.SMaxAge)
}

// setDocumentCaching lets anybody keep what there is to read about the routes.
func setDocumentCaching(c *fiber.Ctx) {
	fresh := DocumentFreshness()
	c.Set(fiber.HeaderCacheControl, fresh.Public(fresh.SMaxAge))
}
