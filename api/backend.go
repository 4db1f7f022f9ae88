package api

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/ratelimit"
)

// Backend is what the handlers of routes answer from. Its methods may be called concurrently.
type Backend struct {
	store       *cache.Store
	publication *publicationWatcher
	pages       *pages
	changes     *changeTail
	limiter     *ratelimit.Limiter
	prices      Prices
	// misses counts the views that were not in Redis.
	misses prometheus.Counter
	now    func() time.Time
}
