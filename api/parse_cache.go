package api

import (
	"bytes"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
	"github.com/maypok86/otter/v2"
	"github.com/valyala/fasthttp"
)

// maxParseCacheBytes bounds the estimated size of the cache in bytes.
const maxParseCacheBytes = 4 << 20

// knownOverhead is the estimated memory of a knownTarget without its texts, in bytes.
const knownOverhead = 1 << 10

// parseCache holds parsed requests by their request target, byte for byte. What a target
// means does not change while the process runs, and callers repeat requests. Only
// targets that were answered with data are in it, and a flood of distinct ones does not
// evict those that are requested more often.
type parseCache struct {
	requests *otter.Cache[string, *knownTarget]
}

// knownTarget is everything that the router and the parser found out about a target.
type knownTarget struct {
	request *request
	// handler and metrics are those of the route.
	handler fiber.Handler
	metrics *routeMetrics
	// uri is the target as fasthttp reads it, without a host.
	uri fasthttp.URI
}

func newParseCache() *parseCache {
	return &parseCache{requests: otter.Must(&otter.Options[string, *knownTarget]{
		MaximumWeight: maxParseCacheBytes,
		Weigher: func(target string, _ *knownTarget) uint32 {
			return uint32(4*len(target) + knownOverhead) //nolint:gosec // bounded by the longest target
		},
	})}
}

// parse returns the parsed request, from the cache if it is there.
func (p *parseCache) parse(c *fiber.Ctx, s *requestState) (*request, error) {
	if s.known != nil {
		return s.known, nil
	}
	if known, is := p.requests.GetIfPresent(c.OriginalURL()); is && known.request.route.ID == s.route.ID {
		return known.request, nil
	}
	return s.route.parse(c)
}

// add caches a request and the handler of its route. Only requests that were answered
// with data should be added, so that invalid ones do not evict them.
func (p *parseCache) add(c *fiber.Ctx, s *requestState, r *request, handler fiber.Handler) {
	if s.known != nil {
		return
	}
	known := &knownTarget{request: r, handler: handler, metrics: s.metrics}
	c.Request().URI().CopyTo(&known.uri)
	known.uri.SetHost("")
	p.requests.Set(strings.Clone(c.OriginalURL()), known)
}

// known returns what is known of the target of a request that the router would pass to
// the route's handler; nil for any other request.
func (p *parseCache) known(request *fasthttp.RequestCtx) *knownTarget {
	header := &request.Request.Header
	if !header.IsGet() && !header.IsHead() || !isPlainHost(header.Host()) {
		return nil
	}
	known, _ := p.requests.GetIfPresent(utils.UnsafeString(header.RequestURI()))
	return known
}

// answerKnown answers a request for a known target: with the same handler as the router,
// and as every request.
func (a *API) answerKnown(request *fasthttp.RequestCtx, s *requestState, known *knownTarget) {
	request.Request.SetURI(&known.uri)
	s.known = known.request
	c := a.app.AcquireCtx(request)
	err := a.observe(c, known.handler)
	a.app.ReleaseCtx(c)
	if err != nil {
		a.refuse(request, err)
	}
}

// isPlainHost reports whether a Host header is a name or an IPv4 address, maybe with a
// port. fasthttp reads no path where it cannot parse the host, so any other host is left
// to it.
func isPlainHost(host []byte) bool {
	name, port, _ := bytes.Cut(host, []byte(":"))
	for _, char := range name {
		if !isTokenByte(char) && char != '.' {
			return false
		}
	}
	for _, char := range port {
		if char < '0' || char > '9' {
			return false
		}
	}
	return len(name) > 0
}

// close stops the goroutines of the cache.
func (p *parseCache) close() { p.requests.StopAllGoroutines() }
