package api

import (
	"strconv"
	"time"

	"pnyx/cache"
)

// HeaderCacheStatus tells which layers were asked for an answer, from the one
// farthest from the caller on (RFC 9211). Caches in front add themselves.
const HeaderCacheStatus = "Cache-Status"

// source says where an answer was found.
type source string

// The sources, as members of the header.
const (
	// sourceNode needs no cache.
	sourceNode source = ""
	// sourceRedis was in Redis, as a worker had left it.
	sourceRedis source = "pnyx-redis; hit"
	// sourceFilled was in no cache: a worker made it for this request, or one like it.
	sourceFilled source = "pnyx-redis; fwd=uri-miss; stored; detail=fill"
	// sourceRefilled was outdated in Redis, and a worker made it anew.
	sourceRefilled source = "pnyx-redis; fwd=stale; stored; detail=fill"
	// sourceStale is outdated, and was not made anew in time.
	sourceStale source = "pnyx-redis; hit; detail=stale"
)

// The node's own copy as members of the header.
const (
	nodeHit  = "pnyx-node; hit"
	nodeMiss = "pnyx-node; fwd=uri-miss; stored"
)

// status is the header of an answer that the node had no copy of. Where time alone
// outdates a view, it tells when; a negative number is what was.
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
