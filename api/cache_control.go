package api

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/routes"
	"pnyx/governance"
)

// Values of Vary. Internal callers get the same answer, and so do all callers of free routes.
const (
	varyPublic      = fiber.HeaderAcceptEncoding
	varyCredentials = varyPublic + ", " + access.HeaderToken + ", " + x402.HeaderPayment
)

// varyOf returns the request headers that any answer of the route depends on.
func varyOf(r *routes.Route) string {
	switch {
	case r.Stream:
		return varyCredentials + ", " + fiber.HeaderAccept
	case r.Paid() || r.TokenOnly:
		return varyCredentials
	}
	return varyPublic
}

// setVary sets Vary to the request headers that any answer of the route depends on.
func setVary(c *fiber.Ctx, s *requestState) {
	if s.internal {
		setHeader(c, fiber.HeaderVary, varyPublic)
		return
	}
	setHeader(c, fiber.HeaderVary, varyOf(s.route))
}

// setAnswerHeaders sets the headers of an answer with data, but for those about its body.
func (a *API) setAnswerHeaders(c *fiber.Ctx, s *requestState, found *rendered, etag string) {
	if found.head != nil {
		found.head.CopyTo(&c.Response().Header)
	} else {
		found.writeHead(&c.Response().Header, s.route)
	}
	if s.internal {
		setVary(c, s)
	}
	setHeader(c, HeaderRequestID, s.requestID(c))
	if etag != found.etag {
		setHeader(c, fiber.HeaderETag, etag)
	}
	if etag != "" && c.OriginalURL() != found.target {
		setHeader(c, fiber.HeaderContentLocation, found.target)
	}
	a.setCacheControl(c, s, found)
}

// writeHead sets the headers of an answer that all requests for it have in common.
func (r *rendered) writeHead(h *fasthttp.ResponseHeader, route *routes.Route) {
	for _, header := range r.commonHeaders(route) {
		h.SetCanonical([]byte(header.name), []byte(header.value))
	}
}

type header struct{ name, value string }

func (r *rendered) commonHeaders(route *routes.Route) []header {
	all := append(constantHeaders(),
		header{fiber.HeaderVary, varyOf(route)}, header{fiber.HeaderETag, r.etag},
		header{fiber.HeaderLastModified, r.modified}, header{fiber.HeaderCacheControl, r.control},
		header{httpcache.HeaderSurrogateKey, r.keys.Spaced}, header{httpcache.HeaderCacheTag, r.keys.Joined}, header{httpcache.HeaderCacheStatus, r.status})
	return slices.DeleteFunc(all, func(h header) bool { return h.value == "" })
}

// setControl sets the default Cache-Control, for a lifetime in shared caches.
func (r *rendered) setControl(route *routes.Route, lifetime time.Duration) {
	r.lifetime, r.control = lifetime, route.Fresh.Private()
	if !route.Paid() {
		r.control = route.Fresh.Public(lifetime)
	}
}

// setCacheControl replaces the default Cache-Control where the request needs another one.
func (a *API) setCacheControl(c *fiber.Ctx, s *requestState, found *rendered) {
	switch {
	case s.charge != nil, s.route.TokenOnly:
		setHeader(c, fiber.HeaderCacheControl, httpcache.PrivateNoStore)
	case s.route.Paid():
	default:
		lifetime := a.sharedLifetime(s.route, found, s.readiness)
		if lifetime != found.lifetime {
			setHeader(c, fiber.HeaderCacheControl, s.route.Fresh.Public(lifetime))
		}
		// After Cache-Control: nginx obeys the last of the two. Nobody purges it.
		a.admission.setAccelExpires(c, s.route.Fresh.SMaxAge)
	}
}

// setMissingKeys sets the surrogate keys of a 404, so that the publication that adds what is missing purges it.
func (a *API) setMissingKeys(c *fiber.Ctx, r *routes.Request, err error) {
	e, is := errors.AsType[*apierror.Error](err)
	if !is || e.Status != http.StatusNotFound || !a.options.PurgeEnabled {
		return
	}
	keys := httpcache.SurrogateKeysOf(r.Tags())
	setHeader(c, httpcache.HeaderSurrogateKey, keys.Spaced)
	setHeader(c, httpcache.HeaderCacheTag, keys.Joined)
}

// errorCacheControl returns the Cache-Control of an error. Only a 404 may be cached; the 404 of a paid route was
// paid for, and only its caller may cache it.
func errorCacheControl(c *fiber.Ctx, s *requestState, e *apierror.Error) string {
	reads := c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead
	if e.Status != http.StatusNotFound || !reads {
		return httpcache.NoStore
	}
	_, unknown := e.Details.(apierror.PathDetails)
	switch {
	case unknown:
		fresh := httpcache.UnknownPath()
		return fresh.Public(fresh.SMaxAge)
	case s.charge != nil:
		return httpcache.PrivateNoStore
	case s.route != nil && s.route.Paid():
		return httpcache.Missing().Private()
	}
	fresh := httpcache.Missing()
	return fresh.Public(fresh.SMaxAge)
}

func setDocumentCaching(c *fiber.Ctx) {
	fresh := httpcache.Document()
	c.Set(fiber.HeaderCacheControl, fresh.Public(fresh.SMaxAge))
}

// sharedLifetime returns how long a shared cache may keep an answer; of a paid route, an edge that has every
// request authorized. An answer that is not ready may change without a publication that purges it, and an answer
// that time alone makes wrong is kept until then at most.
func (a *API) sharedLifetime(route *routes.Route, found *rendered, readiness governance.Readiness) time.Duration {
	fresh := route.Fresh
	if !a.options.PurgeEnabled || readiness != governance.Ready {
		return fresh.SMaxAge
	}
	lifetime := fresh.PurgedSMaxAge
	if until := found.View.FreshUntil; until != nil {
		lifetime = min(lifetime, until.Time().Sub(a.now()).Truncate(time.Second))
	}
	return max(fresh.SMaxAge, lifetime)
}
