package api

import (
	"strconv"
	"time"

	"pnyx/cache"
)

// HeaderCacheStatus lists how each cache handled the request, the cache closest to the
// origin first (RFC 9211). Caches in front of the node append themselves.
const HeaderCacheStatus = "Cache-Status"

// source is where an answer was found, as a member of Cache-Status.
type source string

// The sources.
const (
	// sourceNode is the node itself: no cache was used.
	sourceNode source = ""
	// sourceRedis is a view that was in Redis.
	sourceRedis source = "pnyx-redis; hit"
	// sourceFilled is a page that was missing, and that a worker built on demand.
	sourceFilled source = "pnyx-redis; fwd=uri-miss; stored; detail=fill"
	// sourceRefilled is a page that was stale in Redis, and that a worker rebuilt.
	sourceRefilled source = "pnyx-redis; fwd=stale; stored; detail=fill"
	// sourceStale is a stale page that was not rebuilt in time.
	sourceStale source = "pnyx-redis; hit; detail=stale"
)

// The node's own copies as members of Cache-Status.
const (
	nodeHit = "pnyx-node; hit"
	// nodeStale is a copy that is sent while nothing newer can be read.
	nodeStale = "pnyx-node; hit; detail=stale"
	nodeMiss  = "pnyx-node; fwd=uri-miss; stored"
)

// layer returns the layer that metrics and logs name for the source.
func (s source) layer() layer {
	if s == sourceFilled || s == sourceRefilled {
		return layerFill
	}
	return layerRedis
}

// status returns the Cache-Status header of an answer that the node had no copy of. It has
// a ttl when the view expires by time; a negative ttl has passed.
func (s source) status(view cache.View, now time.Time) string {
	switch {
	case s == sourceNode:
		return nodeMiss
	case s == sourceRedis && view.FreshUntil != nil:
		left := view.FreshUntil.Time().Sub(now) / time.Second
		return string(s) + "; ttl=" + strconv.FormatInt(int64(left), 10) + ", " + nodeMiss
	}
	return string(s) + ", " + nodeMiss
}
