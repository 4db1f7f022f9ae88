package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/maypok86/otter/v2"
)

// maxParseCacheBytes bounds the estimated size of the cache in bytes.
const maxParseCacheBytes = 4 << 20

// parseCache holds parsed requests by their URL, byte for byte. What a URL means does not
// change while the process runs, and callers repeat requests.
type parseCache struct {
	requests *otter.Cache[string, *request]
}

func newParseCache() *parseCache {
	return &parseCache{requests: otter.Must(&otter.Options[string, *request]{
		MaximumWeight: maxParseCacheBytes,
		Weigher: func(address string, _ *request) uint32 {
			return uint32(2*len(address) + localOverhead) //nolint:gosec // bounded by the longest address
		},
	})}
}

// parse returns the parsed request, from the cache if it is there.
func (u *parseCache) parse(c *fiber.Ctx, route *Route) (*request, error) {
	if r, known := u.requests.GetIfPresent(c.OriginalURL()); known && r.route.ID == route.ID {
		return r, nil
	}
	return route.parse(c)
}

// add caches a request. Only requests that were answered with data should be added, so
// that invalid ones do not evict them.
func (u *parseCache) add(c *fiber.Ctx, r *request) {
	u.requests.Set(strings.Clone(c.OriginalURL()), r)
}

// close stops the goroutines of the cache.
func (u *parseCache) close() { u.requests.StopAllGoroutines() }
