package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/maypok86/otter/v2"
)

// maxParseCacheBytes bounds the requests that are remembered, in bytes of their
// addresses and what stands beside them.
const maxParseCacheBytes = 4 << 20

// parseCache remembers what requests ask for that were answered before, by the very
// bytes of their address. What an address means never changes, and callers repeat
// themselves.
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

// parse reads the parameters of a request, which it may have read before.
func (u *parseCache) parse(c *fiber.Ctx, route *Route) (*request, error) {
	if r, known := u.requests.GetIfPresent(c.OriginalURL()); known && r.route.ID == route.ID {
		return r, nil
	}
	return route.parse(c)
}

// remember keeps what was answered: only addresses that lead somewhere are worth it.
func (u *parseCache) remember(c *fiber.Ctx, r *request) {
	u.requests.Set(strings.Clone(c.OriginalURL()), r)
}

// close ends what runs in the background.
func (u *parseCache) close() { u.requests.StopAllGoroutines() }
