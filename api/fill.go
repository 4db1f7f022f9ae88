package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"pnyx/cache"
	"pnyx/governance"
)

const (
	// lookAgainEvery is how often those who wait for a fill look for it themselves:
	// the message that it is done may have been lost, and so may the worker.
	lookAgainEvery = time.Second
	// patience is how long a caller waits for the renewal of a stale page before
	// getting it as it is.
	patience = 200 * time.Millisecond
)

// errFillFailed is a page that no worker could make.
var errFillFailed = errors.New("no worker could make the page")

// pages reads pages that are made on demand. However many callers ask for one, the
// node asks once, and the workers of all nodes together make it once.
type pages struct {
	store       *cache.Store
	publication *publicationWatch
	flights     singleflight.Group
	timeout     time.Duration
	metrics     pageMetrics

	mu      sync.Mutex
	waiting map[cache.Key]chan bool
}

func newPages(store *cache.Store, publication *publicationWatch, timeout time.Duration, registerer prometheus.Registerer) *pages {
	return &pages{
		store: store, publication: publication, timeout: timeout,
		metrics: newPageMetrics(registerer), waiting: map[cache.Key]chan bool{},
	}
}

// run listens for fills that are done, until ctx ends.
func (p *pages) run(ctx context.Context) {
	p.store.FillsDone(ctx, func(key cache.Key, failed bool) {
		p.mu.Lock()
		done := p.waiting[key]
		p.mu.Unlock()
		if done == nil {
			return
		}
		select {
		case done <- failed:
		default:
		}
	})
}

// page returns a page, and where it was found. A stale one is renewed first, if that
// is done in no time.
func (p *pages) page(ctx context.Context, r cache.PageRequest) (cache.View, source, error) {
	v, marked, err := p.store.Page(ctx, r)
	switch {
	case err == nil && p.fresh(v, marked):
		p.metrics.reads.WithLabelValues(string(r.Kind), "fresh").Inc()
		// However old it is, nothing was published since that it does not show.
		v.FreshUntil = nil
		return v, readView, nil
	case err == nil && !v.Absent: // what did not exist a moment ago may do so by now
		p.metrics.reads.WithLabelValues(string(r.Kind), "stale").Inc()
		v, found := p.renew(ctx, r, v)
		return v, found, nil
	case err != nil && !errors.Is(err, cache.ErrMiss):
		return cache.View{}, "", unavailable(err)
	}
	p.metrics.reads.WithLabelValues(string(r.Kind), "miss").Inc()
	v, err = p.make(ctx, r)
	return v, filled, err
}

// fresh says whether nothing is known that the page does not show.
func (p *pages) fresh(v cache.View, marked uint64) bool {
	if marked != 0 || v.FreshUntil == nil {
		return v.Revision >= marked
	}
	return time.Now().Before(v.FreshUntil.Time()) || v.Revision >= p.publication.revision()
}

// renew has a page made anew, and returns the old one when that takes too long.
func (p *pages) renew(ctx context.Context, r cache.PageRequest, old cache.View) (cache.View, source) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v, err := p.make(ctx, r)
	if err != nil {
		old.Readiness = governance.Stale
		return old, outdated
	}
	return v, renewed
}

// make has a page made and waits for it.
func (p *pages) make(ctx context.Context, r cache.PageRequest) (cache.View, error) {
	flight := p.flights.DoChan(string(r.Key()), func() (any, error) {
		// The flight goes on for others when the caller who began it gives up.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.timeout)
		defer cancel()
		return p.fill(ctx, r)
	})
	select {
	case <-ctx.Done():
		return cache.View{}, unavailable(ctx.Err())
	case result := <-flight:
		v, ok := result.Val.(cache.View)
		if result.Err != nil || !ok {
			return cache.View{}, result.Err
		}
		return v, nil
	}
}

// fill asks for a page until it is there.
func (p *pages) fill(ctx context.Context, r cache.PageRequest) (cache.View, error) {
	done := p.register(r.Key())
	defer p.unregister(r.Key())
	until, _ := ctx.Deadline()
	if err := p.store.AskFill(ctx, r, until); err != nil {
		p.metrics.shed.Inc()
		return cache.View{}, unavailable(err)
	}
	ticker := time.NewTicker(lookAgainEvery)
	defer ticker.Stop()
	for {
		var failed bool
		select {
		case <-ctx.Done():
			return cache.View{}, unavailable(ctx.Err())
		case failed = <-done:
		case <-ticker.C:
		}
		// What was asked for is on its way, also while Redis has no time for us: to give
		// up then would be to have it made for nobody.
		v, marked, err := p.store.Page(ctx, r)
		switch {
		case err == nil && p.fresh(v, marked):
			return v, nil
		case failed:
			return cache.View{}, unavailable(errFillFailed)
		case err == nil, errors.Is(err, cache.ErrMiss):
			_ = p.store.AskFill(ctx, r, until) // if it cannot be asked for again, it was once
		}
	}
}

func (p *pages) register(key cache.Key) chan bool {
	done := make(chan bool, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[key] = done
	return done
}

func (p *pages) unregister(key cache.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, key)
}

type pageMetrics struct {
	reads *prometheus.CounterVec
	shed  prometheus.Counter
}

func newPageMetrics(registerer prometheus.Registerer) pageMetrics {
	m := pageMetrics{
		reads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pnyx_page_reads_total", Help: "Pages read, by kind and by what was found: fresh, stale or a miss.",
		}, []string{"kind", "found"}),
		shed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_fill_shed_total", Help: "Requests for fills that were turned away.",
		}),
	}
	registerer.MustRegister(m.reads, m.shed)
	return m
}
