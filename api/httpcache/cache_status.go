package httpcache

import (
	"strconv"
	"time"

	"pnyx/cache"
)

// HeaderCacheStatus lists how each cache handled the request, the one closest to the origin first (RFC 9211).
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

// Status returns the Cache-Status header of an answer that the node had no copy of. It has
// a ttl when the view expires by time; a negative ttl has passed.
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
