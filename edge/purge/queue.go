package purge

import (
	"maps"
	"slices"
	"sync"
	"time"

	"pnyx/backoff"
)

// maxQueued is the number of tags beyond which the tag of all responses replaces them.
const maxQueued = 400

// queue holds the tags to purge from one cache, each once. It is safe for concurrent use.
type queue struct {
	everything string
	// settle and keeps come from Options.
	settle, keeps time.Duration
	// filled receives a value after tags were added.
	filled chan struct{}

	mu sync.Mutex
	// waiting has the last publication that a queued tag stands for.
	waiting map[string]time.Time
}

func newQueue(everything string, settle, keeps time.Duration) *queue {
	return &queue{
		everything: everything, settle: settle, keeps: keeps,
		filled: make(chan struct{}, 1), waiting: map[string]time.Time{},
	}
}

// add queues tags that were published at a time, and wakes the target, without waiting for the cache.
func (q *queue) add(tags []string, now time.Time) {
	if len(tags) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, tag := range tags {
		q.waiting[tag] = now
	}
	if _, all := q.waiting[q.everything]; all || len(q.waiting) > maxQueued {
		q.waiting = map[string]time.Time{q.everything: now}
	}
	backoff.Wake(q.filled)
}

func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) == 0
}

// take returns the tags to purge, sorted, and how many it drops because their responses have expired.
func (q *queue) take(now time.Time) (tags []string, dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := len(q.waiting)
	maps.DeleteFunc(q.waiting, func(_ string, last time.Time) bool {
		return now.Sub(last) > q.settle+q.keeps
	})
	return slices.Sorted(maps.Keys(q.waiting)), before - len(q.waiting)
}

// done removes tags that were taken at a time and purged, but for those published less than settle before.
func (q *queue) done(taken time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	maps.DeleteFunc(q.waiting, func(_ string, last time.Time) bool {
		return !last.After(taken.Add(-q.settle))
	})
}
