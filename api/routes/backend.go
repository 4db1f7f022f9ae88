package routes

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/cache"
	"pnyx/ratelimit"
)

// Backend is what the handlers of routes answer from. Its methods may be called concurrently.
type Backend struct {
	Store *cache.Store
	// Published returns the state of publication that the node knows; nil for none.
	Published func() *cache.PublicationState
	Pages     *Pages
	// HeldChanges is Store.Changes, from the memory of the node where the rows are in it.
	HeldChanges func(ctx context.Context, after cache.ChangeID, limit int) (cache.ChangeSlice, error)
	Limiter     *ratelimit.Limiter
	Prices      Prices
	Misses      prometheus.Counter
	Now         func() time.Time
	// cursors is the cipher of the secret that was last read.
	cursors atomic.Pointer[cursorCipher]
}

// Revision returns the newest revision that the node knows; zero for none.
func (b *Backend) Revision() uint64 {
	if latest := b.Published(); latest != nil {
		return latest.Revision
	}
	return 0
}

// view reads a view and decodes its payload. A missing view is the error missing if everything is published and the
// view is not lost; otherwise, and where missing is nil because every publication writes the view, it is 503. The
// second read closes the gap in which Redis may have been flushed and filled again.
func (b *Backend) view(ctx context.Context, key cache.Key, payload any, missing *apierror.Error) (cache.View, error) {
	v, err := b.Store.View(ctx, key)
	if errors.Is(err, cache.ErrMiss) {
		b.Misses.Inc()
		v, err = b.Store.MissedView(ctx, key)
	}
	switch {
	case errors.Is(err, cache.ErrMiss) && !errors.Is(err, cache.ErrCorrupt) && missing != nil:
		return cache.View{}, missing
	case err == nil:
		if err = v.Decode(payload); err == nil {
			return v, nil
		}
	}
	// A withheld view would be withheld again.
	if errors.Is(err, cache.ErrMiss) && !errors.Is(err, cache.ErrWithheld) {
		_ = b.Store.RequestRepublish(ctx) // the next request repeats it
	}
	return cache.View{}, apierror.Unavailable(err)
}

// unavailable returns the error of an answer that cannot be read. What Redis has lost is published again.
func (b *Backend) unavailable(ctx context.Context, err error) error {
	if errors.Is(err, cache.ErrCorrupt) {
		_ = b.Store.RequestRepublish(ctx) // the next request repeats it
	}
	return apierror.Unavailable(err)
}

// viewOf returns the handler that answers with a view. complete adds what caches do not hold; nil for nothing.
func viewOf[Payload, Params any](key func(Params) cache.Key, complete func(Params, *Payload)) handler[Params] {
	return func(b *Backend, ctx context.Context, r *Request, p Params) (Answer, error) {
		var payload Payload
		view, err := b.view(ctx, key(p), &payload, r.missing())
		if err != nil {
			return Answer{}, err
		}
		if complete != nil {
			complete(p, &payload)
		}
		return Answer{Data: payload, View: view, Source: httpcache.SourceRedis}, nil
	}
}

func readPageOf(ctx context.Context, b *Backend, request cache.PageRequest, payload any, missing *apierror.Error) (Answer, error) {
	view, from, err := b.page(ctx, request, missing)
	if err != nil {
		return Answer{}, err
	}
	if err := view.Decode(payload); err != nil {
		return Answer{}, apierror.Unavailable(err)
	}
	return Answer{View: view, Source: from}, nil
}

// page reads a page, or returns the error missing when its subject does not exist; 503 if missing is nil, of a
// list without a subject. A worker reports an absent subject right after a flush of Redis, too: the page is
// therefore read again once everything is published.
func (b *Backend) page(ctx context.Context, request cache.PageRequest, missing *apierror.Error) (cache.View, httpcache.Source, error) {
	view, from, err := b.Pages.page(ctx, request)
	if err != nil || !view.Absent {
		return view, from, err
	}
	if _, err := b.Store.CompletePublication(ctx); err != nil {
		return cache.View{}, "", apierror.Unavailable(err)
	}
	if view, from, err = b.Pages.page(ctx, request); err == nil && view.Absent {
		return cache.View{}, "", cmp.Or(missing, apierror.Unavailable(errFillFailed))
	}
	return view, from, err
}

// openCursor reads the position from the request's cursor, if any, and returns the cipher of the next one.
func (b *Backend) openCursor(ctx context.Context, r *Request, after any) (*cursorCipher, error) {
	cursors, err := b.cursorCipher(ctx)
	if err != nil {
		return nil, err
	}
	if cursor := r.Cursor(); cursor != "" {
		if err := cursors.decode(r, cursor, after); err != nil {
			return nil, invalidCursor(cursor, err)
		}
	}
	return cursors, nil
}

// cursorCipher returns the cipher of the secret that the publication state holds.
func (b *Backend) cursorCipher(ctx context.Context) (*cursorCipher, error) {
	published := b.Published()
	if published == nil {
		read, err := b.Store.PublicationState(ctx)
		if err != nil {
			return nil, apierror.Unavailable(err)
		}
		published = &read
	}
	if known := b.cursors.Load(); known != nil && bytes.Equal(known.secret, published.CursorKey) {
		return known, nil
	}
	made, err := newCursorCipher(published.CursorKey)
	if err != nil {
		return nil, err
	}
	b.cursors.Store(made)
	return made, nil
}
