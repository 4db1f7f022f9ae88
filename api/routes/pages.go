package routes

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/singleflight"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/telemetry"
)

const (
	// fillPollInterval is how often a waiting request checks for its page: the completion message may be lost.
	fillPollInterval = time.Second
	// refreshWait is how long a request for a stale page waits for a fresh one before it returns the stale one.
	refreshWait = 200 * time.Millisecond
)

// isKept reports whether pages of a kind may take longer than a request waits: they are made for callers that
// return.
func isKept(kind query.Kind) bool {
	return slices.Contains([]query.Kind{query.KindDossier, query.KindBallotPart, query.KindDAOExport, query.KindDAOPart}, kind)
}

var errFillFailed = errors.New("the worker could not build the page")

// Pages reads pages that workers build on demand. Requests for a page enqueue one fill per node, built once for
// all.
type Pages struct {
	store *cache.Store
	// published returns the newest revision that the node knows; zero for none.
	published func() uint64
	flights   singleflight.Group
	timeout   time.Duration
	tracer    *telemetry.Tracer
	metrics   pageMetrics

	mu      sync.Mutex
	waiting map[cache.Key]chan bool // gets true when the fill has failed, else false
}

// NewPages returns pages and registers their metrics.
func NewPages(
	store *cache.Store, published func() uint64, timeout time.Duration, tracer *telemetry.Tracer, registerer prometheus.Registerer,
) *Pages {
	return &Pages{
		store: store, published: published, timeout: timeout, tracer: tracer,
		metrics: newPageMetrics(registerer), waiting: map[cache.Key]chan bool{},
	}
}

// Run passes completion messages of fills to the requests that wait for them, until ctx ends.
func (p *Pages) Run(ctx context.Context) {
	p.store.Fills().Subscribe(ctx, func(key cache.Key, failed bool) {
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

// page returns a page and its source; a stale one refreshed, if that takes less than refreshWait.
func (p *Pages) page(ctx context.Context, r cache.PageRequest) (cache.View, httpcache.Source, error) {
	v, version, err := p.store.Page(ctx, r)
	switch {
	case err == nil && p.fresh(v, version.Revision):
		p.metrics.reads.WithLabelValues(string(r.Kind), "fresh").Inc()
		// No later publication changed it, so it does not expire.
		v.FreshUntil = nil
		return v, httpcache.SourceRedis, nil
	case err == nil && !v.Absent: // an absent subject may exist by now: wait for the fill
		p.metrics.reads.WithLabelValues(string(r.Kind), "stale").Inc()
		v, found := p.refresh(ctx, r, v)
		return v, found, nil
	case err != nil && !errors.Is(err, cache.ErrMiss):
		return cache.View{}, "", apierror.Unavailable(err)
	}
	p.metrics.reads.WithLabelValues(string(r.Kind), "miss").Inc()
	v, err = p.make(ctx, cache.Fill{Page: r, Kept: isKept(r.Kind)})
	return v, httpcache.SourceFilled, err
}

// fresh reports whether a page contains everything up to its version. A page without a version is fresh until
// FreshUntil, and as long as nothing was published since.
func (p *Pages) fresh(v cache.View, version uint64) bool {
	return v.IsFresh(version) || version == 0 && v.FreshUntil != nil && v.Revision >= p.published()
}

// refresh returns a rebuilt page, or the old one, marked stale, when the fill fails or takes longer than
// refreshWait.
func (p *Pages) refresh(ctx context.Context, r cache.PageRequest, old cache.View) (cache.View, httpcache.Source) {
	ctx, cancel := context.WithTimeout(ctx, refreshWait)
	defer cancel()
	v, err := p.make(ctx, cache.Fill{Page: r})
	if err != nil {
		old.Readiness = governance.Stale
		return old, httpcache.SourceStale
	}
	return v, httpcache.SourceRefilled
}

// make waits until a worker has built a page. Concurrent calls share one fill.
func (p *Pages) make(ctx context.Context, wanted cache.Fill) (cache.View, error) {
	p.metrics.waiters.Inc()
	defer p.metrics.waiters.Dec()
	flight := p.flights.DoChan(string(wanted.Page.Key()), func() (any, error) {
		// Other requests share the fill, so it continues when this one gives up.
		timeout := p.timeout
		if wanted.Page.Kind == query.KindDossier {
			timeout = min(timeout, dossierWait)
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		return p.fill(ctx, wanted)
	})
	select {
	case <-ctx.Done():
		return cache.View{}, apierror.Unavailable(ctx.Err())
	case result := <-flight:
		v, ok := result.Val.(cache.View)
		if result.Err != nil || !ok {
			return cache.View{}, result.Err
		}
		return v, nil
	}
}

// fill waits for a fill, and records its outcome and duration.
func (p *Pages) fill(ctx context.Context, wanted cache.Fill) (cache.View, error) {
	began := time.Now()
	ctx, span := p.tracer.Start(ctx, "wait for fill "+string(wanted.Page.Kind), trace.SpanKindProducer)
	defer span.End()
	v, err := p.await(ctx, wanted)
	outcome := fillOutcome(err)
	if outcome != outcomeMade {
		span.SetError(string(outcome))
	}
	p.metrics.waits.WithLabelValues(string(outcome)).Observe(time.Since(began).Seconds())
	return v, err
}

// await enqueues the fill of a page, and waits until the page is fresh or ctx ends. It
// enqueues the fill again when the page is still missing at a poll.
//
// A page without a version expires by the clock. One that was just built is accepted even
// if it has expired: building it took long, or the worker's clock lags.
func (p *Pages) await(ctx context.Context, wanted cache.Fill) (cache.View, error) {
	const keptFor = time.Minute // how long a kept fill is pending without a worker: it is not enqueued again meanwhile
	done := p.register(wanted.Page.Key())
	defer p.unregister(wanted.Page.Key())
	wanted.Trace = p.tracer.Inject(ctx)
	deadline, _ := ctx.Deadline()
	if wanted.Kept {
		deadline = deadline.Add(keptFor)
	}
	wanted.Deadline = governance.TimestampOf(deadline)
	if err := p.store.Fills().Enqueue(ctx, wanted); err != nil {
		return cache.View{}, apierror.Unavailable(err)
	}
	ticker := time.NewTicker(fillPollInterval)
	defer ticker.Stop()
	for {
		var built, failed bool
		select {
		case <-ctx.Done():
			return cache.View{}, apierror.Unavailable(ctx.Err())
		case failed = <-done:
			built = !failed
		case <-ticker.C:
		}
		// An error of Redis does not end the wait: the worker may be building the page.
		v, version, err := p.store.Page(ctx, wanted.Page)
		switch {
		case err == nil && (p.fresh(v, version.Revision) || built && version.Revision == 0):
			return v, nil
		case failed:
			return cache.View{}, apierror.Unavailable(errFillFailed)
		case err == nil, errors.Is(err, cache.ErrMiss):
			_ = p.store.Fills().Enqueue(ctx, wanted) // does nothing while the fill is pending
		}
	}
}

// register returns the channel on which Run reports a completed fill. Requests share fills: one for a key.
func (p *Pages) register(key cache.Key) chan bool {
	done := make(chan bool, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[key] = done
	return done
}

func (p *Pages) unregister(key cache.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, key)
}

// outcome is the outcome of a fill that a node enqueued.
type outcome string

const (
	outcomeMade outcome = "made"
	// outcomeShed is a fill that was refused because the queue is full.
	outcomeShed outcome = "shed"
	// outcomeUnreachable is a fill that could not be enqueued, because of Redis.
	outcomeUnreachable outcome = "unreachable"
	outcomeFailed      outcome = "failed"
	// outcomeLate is a fill that took longer than the request timeout.
	outcomeLate outcome = "late"
)

// fillOutcome classifies an error of pages.await.
func fillOutcome(err error) outcome {
	switch {
	case err == nil:
		return outcomeMade
	case errors.Is(err, cache.ErrQueueFull):
		return outcomeShed
	case errors.Is(err, errFillFailed):
		return outcomeFailed
	case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, cache.ErrUnavailable):
		return outcomeLate
	}
	return outcomeUnreachable
}

type pageMetrics struct {
	reads   *prometheus.CounterVec
	waiters prometheus.Gauge
	waits   *prometheus.HistogramVec
}

// newPageMetrics makes all series, so that they are shown before the first page is read.
func newPageMetrics(registerer prometheus.Registerer) pageMetrics {
	m := pageMetrics{
		reads: telemetry.Counters(registerer, "pnyx_page_reads_total",
			"Pages read, by kind and result: fresh, stale or miss.", "kind", "found"),
		waiters: telemetry.Gauge(registerer, "pnyx_fill_waiters", "Requests on this node that wait for a fill."),
		waits: telemetry.Histograms(registerer,
			telemetry.Latency("pnyx_fill_wait_seconds", "Time that this node waited for fills, by outcome: made, shed, unreachable, failed, late."), "outcome"),
	}
	for _, kind := range PageKinds() {
		for _, found := range []string{"fresh", "stale", "miss"} {
			m.reads.WithLabelValues(string(kind), found)
		}
	}
	for _, outcome := range []outcome{outcomeMade, outcomeShed, outcomeUnreachable, outcomeFailed, outcomeLate} {
		m.waits.WithLabelValues(string(outcome))
	}
	return m
}
