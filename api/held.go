package api

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/routes"
	"pnyx/governance"
)

// heldShare is the part of the memory of all copies that held ones may take: one in so many.
const heldShare = 4

// heldCopies keeps the last answer to each request for a free route, beyond the publication that outdates it: it
// is sent, marked stale, while nothing newer can be read. Its size is bounded. It is safe for concurrent use.
type heldCopies struct {
	answers *otter.Cache[string, *heldCopy]
	// failedAt is when a read for everyone last failed, in nanoseconds since 1970.
	failedAt atomic.Int64
}

type heldCopy struct {
	answer *rendered
	readAt time.Time
}

func newHeldCopies(maxBytes uint64) *heldCopies {
	return &heldCopies{answers: otter.Must(&otter.Options[string, *heldCopy]{
		MaximumWeight: maxBytes,
		Weigher:       func(key string, held *heldCopy) uint32 { return held.answer.weight(key) },
	})}
}

// set keeps an answer that was read at a time, unless a newer one is there.
func (h *heldCopies) set(key string, answer *rendered, readAt time.Time) {
	h.answers.Compute(key, func(before *heldCopy, found bool) (*heldCopy, otter.ComputeOp) {
		if found && before.answer.View.Revision > answer.View.Revision {
			return before, otter.CancelOp
		}
		return &heldCopy{answer: answer, readAt: readAt}, otter.WriteOp
	})
}

func (h *heldCopies) close() { h.answers.StopAllGoroutines() }

// mayHold reports whether an answer of the route may be sent after newer ones are published. forEveryone says that
// it is for a free page, which is held though the route is paid.
func mayHold(r *routes.Route, forEveryone bool) bool {
	return (forEveryone || !r.Paid()) && r.Account == nil && r.Fresh.StaleIfError > 0
}

// loadOrHeld is loadAnswer, with the last answer in place of a failure. Free pages read much for everyone: while
// such reads fail, not each of them waits.
func (a *API) loadOrHeld(ctx context.Context, s *requestState, r *routes.Request) (*rendered, error) {
	if s.forEveryone && a.now().UnixNano()-a.held.failedAt.Load() < int64(httpcache.LocalTTL) {
		if held := a.heldAnswer(r, true, apierror.Unavailable(nil)); held != nil {
			return held, nil
		}
	}
	answer, err := a.loadAnswer(ctx, s, r)
	s.now = a.now()
	switch {
	case err != nil:
		if answer = a.heldAnswer(r, s.forEveryone, err); answer == nil {
			return nil, err
		}
		if s.forEveryone {
			a.held.failedAt.Store(s.now.UnixNano())
		}
	case s.forEveryone && mayHold(r.Route, true):
		a.held.set(r.Name, answer, s.now)
	}
	return answer, nil
}

// heldAnswer returns the last answer to a request that failed with err; nil for none, or if err states a fact, as
// 404 does. It is sent for Freshness.StaleIfError after its read; a shared cache may add the rest of that. As a
// local copy it spares others the wait, except of a paid route, whose copies others pay for.
func (a *API) heldAnswer(r *routes.Request, forEveryone bool, err error) *rendered {
	failed, is := errors.AsType[*apierror.Error](err)
	switch {
	case !is || !mayHold(r.Route, forEveryone):
		return nil
	case failed.Status == http.StatusNotFound:
		a.held.answers.Invalidate(r.Name)
		return nil
	case failed.Status != http.StatusServiceUnavailable:
		return nil
	}
	held, found := a.held.answers.GetIfPresent(r.Name)
	if !found {
		return nil
	}
	fresh := r.Route.Fresh
	fresh.StaleIfError -= max(0, a.now().Sub(held.readAt))
	if fresh.StaleIfError <= 0 {
		return nil
	}
	begun, answer := a.local.begin(), *held.answer
	answer.View.Readiness, answer.status, answer.layer = governance.Stale, httpcache.NodeStale, httpcache.LayerLocal
	answer.lifetime, answer.control = fresh.SMaxAge, fresh.Public(fresh.SMaxAge)
	answer.prepare(r.Route)
	if !r.Route.Paid() {
		a.local.set(r.Name, &answer, begun)
	}
	return &answer
}
