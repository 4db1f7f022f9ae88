package api

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/api/apierror"
	"pnyx/api/routes"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/telemetry"
)

const (
	// maxWaiting bounds the requests that wait for changes on a node, streams included.
	maxWaiting = 20_000
	// tailRows is how many of the latest changes a node has in memory, up to twice as many.
	tailRows = 10_000
)

// changeTail is the end of the stream of changes. One reader follows it for all waiting requests of a node, and
// none while no request waits; requests for earlier rows read Redis. It is safe for concurrent use.
type changeTail struct {
	store *cache.Store
	// drop drops the node's copies of answers with tags.
	drop func(tags ...cache.Tag)
	// draining is closed when the node answers those who wait.
	draining chan struct{}
	// waiting is how many requests wait, and maxWaiting how many may.
	waiting                atomic.Int64
	maxWaiting             int64
	woken, refused, failed prometheus.Counter

	mu sync.Mutex
	// slice has the rows after its place First, and where the stream ends. It is of no use unless following is
	// set.
	slice     cache.ChangeSlice
	following bool
	// grown is closed when there are further rows.
	grown chan struct{}
}

func newChangeTail(store *cache.Store, drop func(...cache.Tag), registerer prometheus.Registerer) *changeTail {
	t := &changeTail{
		store: store, drop: drop, draining: make(chan struct{}), grown: make(chan struct{}), maxWaiting: maxWaiting,
		woken:   telemetry.Counter(registerer, "pnyx_changes_woken_total", "Wake-ups of requests and streams that wait for changes."),
		refused: telemetry.Counter(registerer, "pnyx_changes_refused_total", "Requests that were not held because too many wait."),
		failed:  telemetry.Counter(registerer, "pnyx_changes_follow_errors_total", "Reads of the end of the stream of changes that failed."),
	}
	telemetry.GaugeFunc(registerer, "pnyx_changes_waiting", "Requests that wait for changes, and streams of changes.",
		func() float64 { return float64(t.waiting.Load()) })
	return t
}

// poll reads what was added, after a publication and from time to time, while a caller waits, if Redis can be
// read.
func (t *changeTail) poll(ctx context.Context) {
	if t.waiting.Load() == 0 {
		t.mu.Lock()
		t.slice, t.following = cache.ChangeSlice{}, false
		t.mu.Unlock()
		return
	}
	for ctx.Err() == nil {
		t.mu.Lock()
		last, epoch, following := t.slice.Last, t.slice.State.ChangesEpoch, t.following
		t.mu.Unlock()
		if !following {
			last = routes.EndOfChanges()
		}
		slice, err := t.store.Changes(ctx, last, routes.ChangesPerRead)
		switch {
		case errors.Is(err, cache.ErrMiss): // nothing is published
			if following {
				t.set(cache.ChangeSlice{}, false)
			}
			return
		case err != nil:
			t.failed.Inc()
			return
		case !following, slice.State.ChangesEpoch != epoch, last.Before(slice.First):
			slice.First, slice.Rows = slice.Last, nil
			t.set(slice, true)
			return
		}
		if t.add(slice); !slice.HasMore {
			return
		}
	}
}

// set replaces what is known of the stream, and wakes all that wait.
func (t *changeTail) set(slice cache.ChangeSlice, following bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slice, t.following = slice, following
	t.wake()
}

func (t *changeTail) wake() {
	close(t.grown)
	t.grown = make(chan struct{})
	t.woken.Add(float64(t.waiting.Load()))
}

// growth returns a channel that is closed when there are further rows than those read after the call.
func (t *changeTail) growth() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.grown
}

// enter lets a request wait, until it calls leave. The error is 503.
func (t *changeTail) enter() (leave func(), err error) {
	if t.waiting.Add(1) > t.maxWaiting {
		t.waiting.Add(-1)
		t.refused.Inc()
		return nil, apierror.TooManyWaiting()
	}
	return func() { t.waiting.Add(-1) }, nil
}

// add adds rows and wakes all that wait, once the node's own copies of what they name are dropped.
func (t *changeTail) add(slice cache.ChangeSlice) {
	rows := slice.Rows
	tags := map[cache.Tag]bool{}
	for _, row := range rows {
		for _, tag := range changeTags(row.Change) {
			tags[tag] = true
		}
	}
	if len(tags) > 0 {
		t.drop(slices.Collect(maps.Keys(tags))...)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slice.State = slice.State; len(rows) == 0 {
		return
	}
	// Readers hold parts of the array: it is appended to, and otherwise replaced.
	t.slice.Rows = append(t.slice.Rows, rows...)
	if surplus := len(t.slice.Rows) - 2*tailRows; surplus > 0 {
		surplus += tailRows
		t.slice.First = t.slice.Rows[surplus-1].ID
		t.slice.Rows = slices.Clone(t.slice.Rows[surplus:])
	}
	t.slice.Last = rows[len(rows)-1].ID
	t.wake()
}

func changeTags(change governance.Change) []cache.Tag {
	switch change.Kind {
	case governance.ProposalChange:
		return []cache.Tag{cache.ProposalTag(governance.ProposalKey(change.Key))}
	case governance.DAOChange:
		return []cache.Tag{cache.DAOTag(change.Key), cache.DAOIndexTag}
	case governance.TopicChange:
		return []cache.Tag{cache.TopicTag(governance.TopicKey(change.Key))}
	case governance.EventChange:
		return []cache.Tag{cache.ScopeTag(query.Events{DAOID: change.DAOID}.Scope()), cache.ScopeTag(query.Events{}.Scope())}
	case governance.SignalChange:
		return []cache.Tag{cache.ScopeTag(query.Signals{DAOID: change.DAOID}.Scope()), cache.ScopeTag(query.Signals{}.Scope())}
	}
	return nil
}

// read is Store.Changes, from memory where the rows are in it.
func (t *changeTail) read(ctx context.Context, after cache.ChangeID, limit int) (cache.ChangeSlice, error) {
	t.mu.Lock()
	slice, following := t.slice, t.following
	t.mu.Unlock()
	if !following || after.Before(slice.First) {
		return t.store.Changes(ctx, after, limit)
	}
	at, _ := slices.BinarySearchFunc(slice.Rows, after, func(row cache.ChangeRow, after cache.ChangeID) int {
		if after.Before(row.ID) {
			return 1
		}
		return -1
	})
	slice.Rows = slice.Rows[at:]
	if slice.HasMore = len(slice.Rows) > limit; slice.HasMore {
		slice.Rows = slice.Rows[:limit]
	}
	return slice, nil
}
