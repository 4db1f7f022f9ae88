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
	variesForAll  = fiber.HeaderAcceptEncoding
	variesByPurse = variesForAll + ", " + access.HeaderToken + ", " + x402.HeaderPayment
)

// vary says by which headers of the request the answer was chosen, whatever it is.
func (p *pass) vary(c *fiber.Ctx) {
	if (p.route.Paid() || p.route.Personal) && !p.internal {
		setPlain(c, fiber.HeaderVary, variesByPurse)
		return
	}
	setPlain(c, fiber.HeaderVary, variesForAll)
}

// writeCaching says who may keep an answer, for how long, what makes it wrong, and
// which caches were asked for it. What is the caller's alone has no name and is not
// kept.
func (a *API) writeCaching(c *fiber.Ctx, p *pass, found *rendered, readiness governance.Readiness) {
	switch {
	case p.charge != nil, p.route.Personal:
		c.Set(fiber.HeaderCacheControl, boughtOnce)
	case p.route.Paid():
		setPlain(c, fiber.HeaderCacheControl, found.control)
	default:
		control, lifetime := found.control, a.edgeLifetime(p.route, found, readiness)
		if lifetime != p.route.Fresh.Edge {
			control = p.route.Fresh.forAll(lifetime)
		}
		setPlain(c, fiber.HeaderCacheControl, control)
		tellWhenItEnds(c, lifetime) // after it: what nginx reads last holds
	}
	if p.route.Personal {
		return
	}
	writeTags(c, found.tags)
	setPlain(c, headerCacheStatus, found.status)
}

func writeTags(c *fiber.Ctx, tags tagged) {
	setPlain(c, headerSurrogateKey, tags.spaced)
	setPlain(c, headerCacheTag, tags.joined)
}

// tellMissing says what will end a 404, so that a cache which keeps it can be told.
func tellMissing(c *fiber.Ctx, values Values, err error) {
	if e, is := errors.AsType[*Error](err); is && e.Status == http.StatusNotFound {
		writeTags(c, tagsOf(values))
	}
}

// errorControl says who may keep an error. Only what is not there is the same for
// everyone and for a while; of a paid route it was paid for.
func errorControl(c *fiber.Ctx, status int) string {
	reads := c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead
	if status != http.StatusNotFound || !reads {
		return neverStored
	}
	p, routed := c.Locals(passKey{}).(*pass)
	switch {
	case !routed:
		fresh := nowhereFreshness()
		return fresh.forAll(fresh.Edge)
	case p.charge != nil:
		return boughtOnce
	case p.route.Paid():
		return missingFreshness().forCaller()
	}
	fresh := missingFreshness()
	return fresh.forAll(fresh.Edge)
}

// setDocumentCaching lets anybody keep what there is to read about the routes.
func setDocumentCaching(c *fiber.Ctx) {
	fresh := documentFreshness()
	c.Set(fiber.HeaderCacheControl, fresh.forAll(fresh.Edge))
}
