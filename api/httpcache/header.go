package httpcache

import (
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"pnyx/cache"
)

// HeaderCacheStatus lists how each cache handled the request, the one closest to the origin first (RFC 9211).
// Caches in front of the node append themselves.
const HeaderCacheStatus = "Cache-Status"

// Layer is where the data of an answer came from.
type Layer string

// The layers.
const (
	LayerLocal Layer = "local" // the node's own copy or settings
	layerRedis Layer = "redis"
	layerFill  Layer = "fill" // made by a worker on request
	LayerNone  Layer = "none" // not available
)

// Layers lists every layer.
func Layers() []Layer { return []Layer{LayerLocal, layerRedis, layerFill, LayerNone} }

// Source is where an answer was found, as a member of Cache-Status.
type Source string

// The sources.
const (
	// sourceNode is the node itself: no cache was used.
	sourceNode Source = ""
	// SourceRedis is a view that was in Redis.
	SourceRedis Source = "pnyx-redis; hit"
	// SourceFilled is a page that was missing, and that a worker built on demand.
	SourceFilled Source = "pnyx-redis; fwd=uri-miss; stored; detail=fill"
	// SourceRefilled is a page that was stale in Redis, and that a worker rebuilt.
	SourceRefilled Source = "pnyx-redis; fwd=stale; stored; detail=fill"
	// SourceStale is a stale page that was not rebuilt in time.
	SourceStale Source = "pnyx-redis; hit; detail=stale"
)

// The node's own copies as members of Cache-Status.
const (
	NodeHit = "pnyx-node; hit"
	// NodeStale is a copy that is sent while nothing newer can be read.
	NodeStale = "pnyx-node; hit; detail=stale"
	nodeMiss  = "pnyx-node; fwd=uri-miss; stored"
)

// Layer returns the layer that metrics and logs name for the source.
func (s Source) Layer() Layer {
	if s == SourceFilled || s == SourceRefilled {
		return layerFill
	}
	return layerRedis
}

// Status returns the Cache-Status of an answer without a local copy. A view that expires has a ttl, maybe
// negative.
func (s Source) Status(view cache.View, now time.Time) string {
	switch {
	case s == sourceNode:
		return nodeMiss
	case s == SourceRedis && view.FreshUntil != nil:
		left := view.FreshUntil.Time().Sub(now) / time.Second
		return string(s) + "; ttl=" + strconv.FormatInt(int64(left), 10) + ", " + nodeMiss
	}
	return string(s) + ", " + nodeMiss
}

// The headers of tags: Fastly and Varnish read the first, separated by spaces; Cloudflare the second, by commas.
const (
	HeaderSurrogateKey = "Surrogate-Key"
	HeaderCacheTag     = "Cache-Tag"
)

// SurrogateKeys holds the tags of an answer in the form of both headers.
type SurrogateKeys struct{ Spaced, Joined string }

// SurrogateKeysOf returns the keys of an answer with tags, after the tag that purges everything.
func SurrogateKeysOf(tags []cache.Tag) SurrogateKeys {
	names := []string{string(cache.EverythingTag)}
	for _, tag := range tags {
		names = append(names, string(tag))
	}
	return SurrogateKeys{Spaced: strings.Join(names, " "), Joined: strings.Join(names, ",")}
}

// Matches reports whether If-None-Match names the answer. If-Modified-Since is ignored: revisions share seconds.
func Matches(c *fiber.Ctx, etag string) bool {
	if etag == "" {
		return false
	}
	for _, line := range c.Request().Header.PeekAll(fiber.HeaderIfNoneMatch) {
		for candidate := range strings.SplitSeq(string(line), ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == strings.TrimPrefix(etag, "W/") {
				return true
			}
		}
	}
	return false
}
