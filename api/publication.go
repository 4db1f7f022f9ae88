package api

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"pnyx/cache"
	"pnyx/governance"
)

// pollInterval is how often a node looks at the state of publication, beside when
// it hears of one.
const pollInterval = 500 * time.Millisecond

// publicationWatcher is a node's own copy of the state of publication.
type publicationWatcher struct {
	store      *cache.Store
	staleAfter time.Duration
	latest     atomic.Pointer[cache.PublicationState]
	// changed is called whenever something newer is published, and renewed when
	// everything was published anew, because Redis lost something.
	changed, republished func()
}

func newPublicationWatcher(store *cache.Store, staleAfter time.Duration) *publicationWatcher {
	return &publicationWatcher{store: store, staleAfter: staleAfter}
}

// run keeps the copy up to date until ctx ends. While Redis does not answer, or is
// being filled anew, the last copy stays, and grows stale.
func (w *publicationWatcher) run(ctx context.Context) {
	announced := make(chan struct{}, 1)
	var listening sync.WaitGroup
	defer listening.Wait()
	listening.Go(func() {
		w.store.Subscribe(ctx, func() {
			w.changed() // also when it was not the publication itself, but a list beside it
			select {
			case announced <- struct{}{}:
			default:
			}
		})
	})
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if published, err := w.store.PublicationState(ctx); err == nil {
			before := w.latest.Swap(&published)
			if before == nil || before.Revision != published.Revision {
				w.changed()
			}
			if before != nil && before.LastFullRevision != published.LastFullRevision {
				w.republished()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-announced:
		case <-ticker.C:
		}
	}
}

// readiness says how far a view may be relied on: less than it says itself when
// the worker has given no sign of life, or when its time has run out.
func (w *publicationWatcher) readiness(v cache.View, now time.Time) governance.Readiness {
	latest := w.latest.Load()
	if latest == nil || now.Sub(latest.HeartbeatAt.Time()) > w.staleAfter {
		return governance.Stale
	}
	if v.FreshUntil != nil && now.Sub(v.FreshUntil.Time()) > w.staleAfter {
		return governance.Stale
	}
	return v.Readiness
}

// readiness says how far an answer may be relied on at a moment.
func (a *API) readiness(found *rendered, at time.Time) governance.Readiness {
	if found.nodeLocal {
		return found.view.Readiness
	}
	return a.publication.readiness(found.view, at)
}

// revision returns the last publication that the node knows of.
func (w *publicationWatcher) revision() uint64 {
	if latest := w.latest.Load(); latest != nil {
		return latest.Revision
	}
	return 0
}

// cursorKey returns the key that signs cursors.
func (w *publicationWatcher) cursorKey(ctx context.Context) ([]byte, error) {
	if latest := w.latest.Load(); latest != nil {
		return latest.CursorKey, nil
	}
	published, err := w.store.PublicationState(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	return published.CursorKey, nil
}

// view reads a view into a payload. A key without one does not exist only if
// everything is published; otherwise nobody can tell yet. Looking a second time
// closes the gap in which Redis may have been flushed and filled.
func (a *API) view(ctx context.Context, key cache.Key, payload any, missing *Error) (cache.View, error) {
	v, err := a.store.View(ctx, key)
	if errors.Is(err, cache.ErrMiss) {
		a.metrics.misses.Inc()
		if _, err := a.store.PublicationState(ctx); err != nil {
			return cache.View{}, unavailable(err)
		}
		v, err = a.store.View(ctx, key)
	}
	switch {
	case errors.Is(err, cache.ErrMiss) && !errors.Is(err, cache.ErrCorrupt):
		return cache.View{}, missing
	case err == nil:
		if err = v.Decode(payload); err == nil {
			return v, nil
		}
	}
	// A view that is withheld would be the same again.
	if errors.Is(err, cache.ErrMiss) && !errors.Is(err, cache.ErrWithheld) {
		_ = a.store.RequestRepublish(ctx) // the next who finds it asks again
	}
	return cache.View{}, unavailable(err)
}
