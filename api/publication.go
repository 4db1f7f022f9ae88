package api

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/telemetry"
)

// publicationWatcher keeps a node's own copy of the publication state.
type publicationWatcher struct {
	store      *cache.Store
	staleAfter time.Duration
	latest     atomic.Pointer[cache.PublicationState]
	// changed is called, maybe concurrently, with the published tags; with EverythingTag after a missed
	// notification.
	changed func(tags ...cache.Tag)
	// last is the number of the last notification.
	last atomic.Uint64
	// polled is called after each read of the state.
	polled func(ctx context.Context)
	// republished is called when everything was published again because Redis lost data.
	republished func()
}

// run keeps the copy up to date until ctx ends. While the state cannot be read, the copy stays: its heartbeat
// grows old.
func (w *publicationWatcher) run(ctx context.Context) {
	const pollInterval = 500 * time.Millisecond // how often a node reads the publication state without being notified of a change
	notified := make(chan struct{}, 1)
	var subscription sync.WaitGroup
	defer subscription.Wait()
	subscription.Go(func() {
		w.store.Subscribe(ctx, func(n cache.Notification) {
			w.receive(n)
			backoff.Wake(notified)
		})
	})
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for polled := uint64(0); ; {
		polled = w.poll(ctx, polled)
		w.polled(ctx)
		select {
		case <-ctx.Done():
			return
		case <-notified:
		case <-ticker.C:
		}
	}
}

// receive reports what a notification says has changed: everything, unless its number follows the last one's.
func (w *publicationWatcher) receive(n cache.Notification) {
	if n.Number != 0 && n.Number == w.last.Swap(n.Number)+1 {
		if len(n.Tags) > 0 {
			w.changed(n.Tags...)
		}
		return
	}
	w.changed(cache.EverythingTag)
}

// poll reads the state. It reports that everything has changed if a notification was missed, or if the revision
// has changed without one since the poll before, which returned polled.
func (w *publicationWatcher) poll(ctx context.Context, polled uint64) uint64 {
	last := w.last.Load()
	published, number, err := w.store.PublicationProgress(ctx)
	if err != nil {
		return polled
	}
	before := w.latest.Swap(&published)
	missed := number < last // Redis has lost the count
	if current := w.last.Load(); missed || number > current {
		missed = w.last.CompareAndSwap(current, number) || missed
	}
	unannounced := number == polled && (before == nil || before.Revision != published.Revision)
	if missed || unannounced {
		w.changed(cache.EverythingTag)
	}
	if before != nil && before.LastFullRevision != published.LastFullRevision {
		w.republished()
	}
	return number
}

// readiness returns a view's readiness: stale when the worker's heartbeat is too old or the view has expired.
func (w *publicationWatcher) readiness(v cache.View, now time.Time) governance.Readiness {
	latest := w.latest.Load()
	if latest == nil || now.Sub(latest.HeartbeatAt.Time()) > w.staleAfter ||
		v.FreshUntil != nil && now.Sub(v.FreshUntil.Time()) > w.staleAfter {
		return governance.Stale
	}
	return v.Readiness
}

func (a *API) readiness(found *rendered, at time.Time) governance.Readiness {
	if found.NodeLocal {
		return found.View.Readiness
	}
	return a.publication.readiness(found.View, at)
}

func (w *publicationWatcher) registerMetrics(registerer prometheus.Registerer) {
	gauge := func(name, help string, seconds func(*cache.PublicationState) float64) {
		telemetry.GaugeFunc(registerer, name, help, func() float64 {
			if latest := w.latest.Load(); latest != nil {
				return seconds(latest)
			}
			return 0
		})
	}
	gauge("pnyx_served_through_timestamp_seconds",
		"Commit time of the newest batch that is fully published, as this node knows; 0 before the first publication. "+
			"Lag is now minus this value.",
		func(p *cache.PublicationState) float64 { return float64(p.CommittedThrough) / 1e6 })
	gauge("pnyx_served_heartbeat_timestamp_seconds",
		"Time of the last heartbeat of a worker, as this node knows; 0 before the first.",
		func(p *cache.PublicationState) float64 { return float64(p.HeartbeatAt.Time().UnixMilli()) / 1000 })
}
