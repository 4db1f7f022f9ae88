package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/singleflight"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/telemetry"
)

const (
	// fillPollInterval is how often a request that waits for a page reads it, in case the
	// message that it is made was lost, or the worker was.
	fillPollInterval = time.Second
	// refreshWait is how long a request for a stale page waits for a new one before it
	// gets the stale one.
	refreshWait = 200 * time.Millisecond
)

// errFillFailed is the error of a page that the worker failed to make.
var errFillFailed = errors.New("no worker could make the page")

// pages reads pages that workers make on demand. Concurrent requests for a page enqueue
// one fill a node, and the workers make the page once for all nodes.
type pages struct {
	store       *cache.Store
	publication *publicationWatcher
	flights     singleflight.Group
	timeout     time.Duration
	tracer      *telemetry.Tracer
	metrics     pageMetrics

	mu      sync.Mutex
	waiting map[cache.Key]chan bool // receives whether the fill failed
}

// newPages registers the metrics of pages.
func newPages(o Options, publication *publicationWatcher) *pages {
	return &pages{
		store: o.Store, publication: publication, timeout: o.RequestTimeout, tracer: o.Tracer,
		metrics: newPageMetrics(o.Metrics), waiting: map[cache.Key]chan bool{},
	}
}

// run wakes the requests that wait for a page once it is made, until ctx ends.
func (p *pages) run(ctx context.Context) {
	p.store.SubscribeFills(ctx, func(key cache.Key, failed bool) {
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

// page returns a page and where it was found. A stale page is made anew first, if that
// takes less than refreshWait.
func (p *pages) page(ctx context.Context, r cache.PageRequest) (cache.View, source, error) {
	v, version, err := p.store.Page(ctx, r)
	switch {
	case err == nil && p.fresh(v, version):
		p.metrics.reads[pageRead{r.Kind, "fresh"}].Inc()
		// Nothing was published since that changes it, so it does not expire.
		v.FreshUntil = nil
		return v, sourceRedis, nil
	case err == nil && !v.Absent: // what did not exist before may exist now
		p.metrics.reads[pageRead{r.Kind, "stale"}].Inc()
		v, found := p.renew(ctx, r, v)
		return v, found, nil
	case err != nil && !errors.Is(err, cache.ErrMiss):
		return cache.View{}, "", unavailable(err)
	}
	p.metrics.reads[pageRead{r.Kind, "miss"}].Inc()
	v, err = p.make(ctx, r)
	return v, sourceFilled, err
}

// fresh reports whether the page shows everything published up to its version.
func (p *pages) fresh(v cache.View, version uint64) bool {
	if version != 0 || v.FreshUntil == nil {
		return v.Revision >= version
	}
	return time.Now().Before(v.FreshUntil.Time()) || v.Revision >= p.publication.revision()
}

// renew has a page made anew, and returns the old one version stale when that fails or
// takes too long.
func (p *pages) renew(ctx context.Context, r cache.PageRequest, old cache.View) (cache.View, source) {
	ctx, cancel := context.WithTimeout(ctx, refreshWait)
	defer cancel()
	v, err := p.make(ctx, r)
	if err != nil {
		old.Readiness = governance.Stale
		return old, sourceStale
	}
	return v, sourceRefilled
}

// make has a page made, and waits for it. Concurrent calls share one fill.
func (p *pages) make(ctx context.Context, r cache.PageRequest) (cache.View, error) {
	p.metrics.waiters.Inc()
	defer p.metrics.waiters.Dec()
	flight := p.flights.DoChan(string(r.Key()), func() (any, error) {
		// The fill goes on for the others when the request that started it gives up.
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

// fill has a page made, and records how long that took.
func (p *pages) fill(ctx context.Context, r cache.PageRequest) (cache.View, error) {
	began := time.Now()
	ctx, span := p.tracer.Start(ctx, "wait for fill "+string(r.Kind), trace.SpanKindProducer)
	defer span.End()
	v, err := p.await(ctx, r)
	outcome := fillOutcome(err)
	if outcome != outcomeMade {
		span.SetError(string(outcome))
	}
	p.metrics.waits[outcome].Observe(time.Since(began).Seconds())
	return v, err
}

// await enqueues the fill of a page, and waits until the page is fresh or ctx ends. It
// enqueues the fill again when the page is still missing at a poll.
//
// A page without a version expires by the clock. One that was just made is as fresh as a
// page can be, even if making it took longer than that or the worker's clock is behind.
func (p *pages) await(ctx context.Context, r cache.PageRequest) (cache.View, error) {
	done := p.register(r.Key())
	defer p.unregister(r.Key())
	wanted := cache.Fill{Page: r, Trace: p.tracer.Inject(ctx)}
	deadline, _ := ctx.Deadline()
	wanted.Deadline = governance.TimestampOf(deadline)
	if err := p.store.EnqueueFill(ctx, wanted); err != nil {
		return cache.View{}, unavailable(err)
	}
	ticker := time.NewTicker(fillPollInterval)
	defer ticker.Stop()
	for {
		var made, failed bool
		select {
		case <-ctx.Done():
			return cache.View{}, unavailable(ctx.Err())
		case failed = <-done:
			made = !failed
		case <-ticker.C:
		}
		// An error of Redis does not end the wait: the page is being made, and giving up
		// would waste it.
		v, version, err := p.store.Page(ctx, r)
		switch {
		case err == nil && (p.fresh(v, version) || made && version == 0):
			return v, nil
		case failed:
			return cache.View{}, unavailable(errFillFailed)
		case err == nil, errors.Is(err, cache.ErrMiss):
			_ = p.store.EnqueueFill(ctx, wanted) // the first request stands
		}
	}
}

// register returns a channel that run sends to once the page is made. There is one
// registration a key, since fills are shared.
func (p *pages) register(key cache.Key) chan bool {
	done := make(chan bool, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[key] = done
	return done
}

// unregister ends a registration.
func (p *pages) unregister(key cache.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, key)
}
