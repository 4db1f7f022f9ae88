package purge

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// mostWaiting is how many tags are told apart: beyond it everything is purged, in
// one tag.
const mostWaiting = 400

// queue is what one cache is to be told. Tags that come again while they wait are
// not told twice.
type queue struct {
	everything    string
	settle, keeps time.Duration
	// filled gets a hint when something was added.
	filled chan struct{}

	mu      sync.Mutex
	waiting map[string]published
}

// published is the times of the first publication that waits for a purge of a tag,
// and of the last.
type published struct{ first, last time.Time }

func newQueue(everything string, settle, keeps time.Duration) *queue {
	return &queue{
		everything: everything, settle: settle, keeps: keeps,
		filled: make(chan struct{}, 1), waiting: map[string]published{},
	}
}

func (q *queue) add(tags []string, now time.Time) {
	if len(tags) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, tag := range tags {
		times, waits := q.waiting[tag]
		if !waits {
			times.first = now
		}
		times.last = now
		q.waiting[tag] = times
	}
	if _, all := q.waiting[q.everything]; all || len(q.waiting) > mostWaiting {
		q.collapse(now)
	}
	select {
	case q.filled <- struct{}{}:
	default:
	}
}

// collapse puts the tag of everything in the place of all others.
func (q *queue) collapse(now time.Time) {
	first := now
	for _, times := range q.waiting {
		if times.first.Before(first) {
			first = times.first
		}
	}
	q.waiting = map[string]published{q.everything: {first: first, last: now}}
}

func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) == 0
}

// take returns what is to be purged, in order, and how many tags are waited for no
// longer: what they outdated has ended by itself.
func (q *queue) take(now time.Time) (tags []string, givenUp int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := len(q.waiting)
	maps.DeleteFunc(q.waiting, func(_ string, times published) bool {
		return now.Sub(times.last) > q.settle+q.keeps
	})
	return slices.Sorted(maps.Keys(q.waiting)), before - len(q.waiting)
}

// done notes that what was taken at a time was purged. What had been published too
// shortly before stays, to be purged once more.
func (q *queue) done(taken time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	maps.DeleteFunc(q.waiting, func(_ string, times published) bool {
		return !times.last.After(taken.Add(-q.settle))
	})
}
