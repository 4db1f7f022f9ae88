package api

import (
	"slices"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"pnyx/cache"
)

// maxDroppedTags bounds what is remembered of tags that were dropped.
const maxDroppedTags = 20_000

// defaultLocalBytes is the size limit when Options has none.
const defaultLocalBytes = 8 << 20

// localCopies keeps rendered answers that are requested repeatedly, up to a number of bytes. A
// publication drops those with a tag of what it changed. It is safe for concurrent use.
type localCopies struct {
	answers *otter.Cache[string, *rendered]

	// mu orders set and drop: a drop finds the copy, or set finds the drop.
	mu sync.Mutex
	// drops counts the drops. allDropped is the number of the last drop of everything, and dropped holds the
	// numbers of the last drops of single tags since.
	drops, allDropped uint64
	dropped           map[cache.Tag]uint64
}

// newLocalCopies returns copies of at most maxBytes that expire after a time.
func newLocalCopies(maxBytes uint64, ttl time.Duration) *localCopies {
	return &localCopies{
		answers: otter.Must(&otter.Options[string, *rendered]{
			MaximumWeight:    maxBytes,
			Weigher:          func(key string, answer *rendered) uint32 { return answer.weight(key) },
			ExpiryCalculator: otter.ExpiryWriting[string, *rendered](ttl),
		}),
		dropped: map[cache.Tag]uint64{},
	}
}

func (l *localCopies) get(key string) (*rendered, bool) {
	return l.answers.GetIfPresent(key)
}

// begin returns what set needs to know of the time before an answer is read.
func (l *localCopies) begin() (drops uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.drops
}

// set stores a prepared copy of an answer, unless one of its tags was dropped since begun, before the answer was
// read: it may be older than the latest publication.
func (l *localCopies) set(key string, answer *rendered, begun uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	since := func(tag cache.Tag) bool { return l.dropped[tag] > begun }
	if l.drops == begun || l.allDropped <= begun && !answer.isOutdated(since) {
		l.answers.Set(key, answer)
	}
}

func (l *localCopies) drop(tags ...cache.Tag) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drops++
	if len(l.dropped)+len(tags) > maxDroppedTags {
		l.allDropped = l.drops // of what is being read; the copies are up to date
		clear(l.dropped)
	}
	for _, tag := range tags {
		l.dropped[tag] = l.drops
	}
	if slices.Contains(tags, cache.EverythingTag) {
		l.allDropped = l.drops
		clear(l.dropped)
		l.answers.InvalidateAll()
		return
	}
	now := func(tag cache.Tag) bool { return l.dropped[tag] == l.drops }
	for key, answer := range l.answers.All() {
		if answer.isOutdated(now) {
			l.answers.Invalidate(key)
		}
	}
}

func (l *localCopies) close() {
	l.answers.StopAllGoroutines()
}
