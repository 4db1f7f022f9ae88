package api

import (
	"strconv"
	"time"

	"pnyx/cache"
)

// headerCacheStatus tells which layers were asked for an answer, from the one
// farthest from the caller on (RFC 9211). Caches in front add themselves.
const headerCacheStatus = "Cache-Status"

// source says where an answer was found.
type source string

// The sources, as members of the header.
const (
	// knownHere needs no cache.
	knownHere source = ""
	// readView was in Redis, as a worker had left it.
	readView source = "pnyx-redis; hit"
	// filled was in no cache: a worker made it for this request, or one like it.
	filled source = "pnyx-redis; fwd=uri-miss; stored; detail=fill"
	// renewed was outdated in Redis, and a worker made it anew.
	renewed source = "pnyx-redis; fwd=stale; stored; detail=fill"
	// outdated is outdated, and was not made anew in time.
	outdated source = "pnyx-redis; hit; detail=stale"
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
	case s == knownHere:
		return nodeMiss
	case s == readView && view.FreshUntil != nil:
		left := view.FreshUntil.Time().Sub(now) / time.Second
		return string(s) + "; ttl=" + strconv.FormatInt(int64(left), 10) + ", " + nodeMiss
	}
	return string(s) + ", " + nodeMiss
}
