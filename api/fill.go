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
	// lookAgainEvery is how often those who wait for a fill look for it themselves:
	// the message that it is done may have been lost, and so may the worker.
	lookAgainEvery = time.Second
	// refreshWait is how long a caller waits for the renewal of a stale page before
	// getting it as it is.
	refreshWait = 200 * time.Millisecond
)

// errFillFailed is a page that no worker could make.
var errFillFailed = errors.New("no worker could make the page")

// pages reads pages that are made on demand. However many callers ask for one, the
// node asks once, and the workers of all nodes together make it once.
type pages struct {
	store       *cache.Store
	publication *publicationWatcher
	flights     singleflight.Group
	timeout     time.Duration
	tracer      *telemetry.Tracer
	metrics     pageMetrics

	mu      sync.Mutex
	waiting map[cache.Key]chan bool
}

func newPages(o Options, publication *publicationWatcher) *pages {
	return &pages{
		store: o.Store, publication: publication, timeout: o.RequestTimeout, tracer: o.Tracer,
		metrics: newPageMetrics(o.Metrics), waiting: map[cache.Key]chan bool{},
	}
}

// run listens for fills that are done, until ctx ends.
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

// page returns a page, and where it was found. A stale one is renewed first, if that
// is done in no time.
func (p *pages) page(ctx context.Context, r cache.PageRequest) (cache.View, source, error) {
	v, marked, err := p.store.Page(ctx, r)
	switch {
	case err == nil && p.fresh(v, marked):
		p.metrics.reads[pageRead{r.Kind, "fresh"}].Inc()
		// However old it is, nothing was published since that it does not show.
		v.FreshUntil = nil
		return v, sourceRedis, nil
	case err == nil && !v.Absent: // what did not exist a moment ago may do so by now
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

// fresh says whether nothing is known that the page does not show.
func (p *pages) fresh(v cache.View, marked uint64) bool {
	if marked != 0 || v.FreshUntil == nil {
		return v.Revision >= marked
	}
	return time.Now().Before(v.FreshUntil.Time()) || v.Revision >= p.publication.revision()
}

// renew has a page made anew, and returns the old one when that takes too long.
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

// make has a page made and waits for it.
func (p *pages) make(ctx context.Context, r cache.PageRequest) (cache.View, error) {
	p.metrics.waiters.Inc()
	defer p.metrics.waiters.Dec()
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

// fill asks for a page until it is there, and says how long that took.
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

// await asks for a page until it is there.
func (p *pages) await(ctx context.Context, r cache.PageRequest) (cache.View, error) {
	done := p.register(r.Key())
	defer p.unregister(r.Key())
	wanted := cache.Fill{Page: r, Trace: p.tracer.Inject(ctx)}
	deadline, _ := ctx.Deadline()
	wanted.Deadline = governance.TimestampOf(deadline)
	if err := p.store.EnqueueFill(ctx, wanted); err != nil {
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
			_ = p.store.EnqueueFill(ctx, wanted) // if it cannot be asked for again, it was once
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
