package cache_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pnyx/cache"
	"pnyx/test/env"
)

func leaseClaims() []claim {
	return []claim{
		{"one worker at a time has the lease", leaseHasOneHolder},
		{"acquiring again prolongs the lease", leaseIsProlonged},
		{"a lease ends by itself", leaseExpires},
		{"who lost the lease publishes no more", loserPublishesNothing},
		{"the state of publication comes back as it was written", publishedRoundTrip},
		{"nothing is published after a flush", flushedIsUnpublished},
		{"a state of publication that does not decode is a miss", brokenPublishedIsMiss},
		{"what was published to other servers is not complete", publishedElsewhereIsIncomplete},
	}
}

func leaseHasOneHolder(t *bench) {
	first, second := t.store.NewLease(time.Hour), t.store.NewLease(time.Hour)
	t.wantAcquire("first", first, nil)
	t.wantAcquire("second, while the first has it", second, cache.ErrNotLeader)
	env.WantError(t, nil, second.Release(t.Context()), "release of what one does not have")
	t.wantAcquire("second, after its release of nothing", second, cache.ErrNotLeader)
	t.wantAcquire("first again", first, nil)

	env.MustDo(t, first.Release(t.Context()))
	t.wantAcquire("second, after the first's release", second, nil)
	t.wantAcquire("first, after its release", first, cache.ErrNotLeader)
}

func (t *bench) wantAcquire(who string, lease *cache.Lease, want error) {
	t.Helper()
	env.WantError(t, want, lease.Acquire(t.Context()), who)
}

func leaseIsProlonged(t *bench) {
	lease := t.store.NewLease(time.Hour)
	t.wantAcquire("first", lease, nil)
	env.MustDo(t, t.raw.Expire(t.Context(), string(cache.LeaseKey), time.Minute).Err())
	t.wantAcquire("first again", lease, nil)
	left, err := t.raw.PTTL(t.Context(), string(cache.LeaseKey)).Result()
	if err != nil || left < 50*time.Minute || left > time.Hour {
		t.Errorf("left of an hour: got %s, %v", left, err)
	}
}

func leaseExpires(t *bench) {
	first, second := t.store.NewLease(200*time.Millisecond), t.store.NewLease(time.Hour)
	t.wantAcquire("first", first, nil)
	env.Until(t.T, func() error { return second.Acquire(t.Context()) })
	if first.IsCurrent() || !second.IsCurrent() {
		t.Error("who lost the lease by the clock takes it for current, or who has it does not")
	}
	t.wantAcquire("first, after its end", first, cache.ErrNotLeader)
}

func loserPublishesNothing(t *bench) {
	first, second := t.store.NewLease(time.Hour), t.store.NewLease(time.Hour)
	env.WantError(t, cache.ErrNotLeader, setPublished(t.Context(), first, cache.PublicationState{Revision: 1}), "before the lease")
	t.wantAcquire("first", first, nil)
	env.WantError(t, nil, setPublished(t.Context(), first, cache.PublicationState{Revision: 2}), "with the lease")
	env.MustDo(t, t.raw.Del(t.Context(), string(cache.LeaseKey)).Err()) // as when it ends
	t.wantAcquire("second", second, nil)
	env.WantError(t, cache.ErrNotLeader, setPublished(t.Context(), first, cache.PublicationState{Revision: 3}), "after the lease")
	env.Want(t, 2, env.Must(t.store.PublicationState(t.Context()))(t).Revision, "published", "revision")
}

func publishedRoundTrip(t *bench) {
	want := cache.PublicationState{
		Revision: 1709210096007123, CommittedThrough: 1709210096007120, HeartbeatAt: 1709210096008, CursorKey: []byte("0123456789abcdef"),
	}
	lease := t.store.NewLease(time.Hour)
	t.wantAcquire("worker", lease, nil)
	env.MustDo(t, setPublished(t.Context(), lease, want))
	env.WantSame(t, "published", want, env.Must(t.store.PublicationState(t.Context()))(t))
}

func flushedIsUnpublished(t *bench) {
	check := func(when string) error {
		_, err := t.store.PublicationState(t.Context())
		if !errors.Is(err, cache.ErrMiss) || errors.Is(err, cache.ErrUnavailable) {
			return fmt.Errorf("%s: got %w, want %w", when, err, cache.ErrMiss)
		}
		return nil
	}
	env.WantError(t, nil, check("at first"))
	lease := t.store.NewLease(time.Hour)
	t.wantAcquire("worker", lease, nil)
	env.MustDo(t, setPublished(t.Context(), lease, cache.PublicationState{Revision: 1}))
	env.FlushRedis(t, t.raw)
	env.WantError(t, nil, check("after a flush"))
	env.WantError(t, cache.ErrNotLeader, setPublished(t.Context(), lease, cache.PublicationState{Revision: 2}), "the lease went with the flush")
	t.wantAcquire("worker, after a flush", lease, nil)
}

func brokenPublishedIsMiss(t *bench) {
	for name, value := range brokenValues() {
		t.set(cache.PublicationKey, value)
		if got, err := t.store.PublicationState(t.Context()); !errors.Is(err, cache.ErrMiss) {
			t.Errorf("%s: got %+v, %v, want %v", name, got, err, cache.ErrMiss)
		}
	}
}

// One of three primaries may be lost for good, and the others take its slots.
func publishedElsewhereIsIncomplete(t *bench) {
	ids := env.Must(t.store.Standing(t.Context()))(t).ServerRunIDs
	lease := t.store.NewLease(time.Hour)
	t.wantAcquire("worker", lease, nil)
	elsewhere := cache.ErrUnavailable
	if ids == "" { // it does not say which it is
		elsewhere = nil
	}
	for published, want := range map[string]error{
		ids: nil, ids + " restored from a backup": nil,
		ids + ",ffff": elsewhere, ids + ",ffff restored from a backup": elsewhere, "ffff": elsewhere,
	} {
		env.MustDo(t, setPublished(t.Context(), lease, cache.PublicationState{ServerRunIDs: published}))
		_, err := t.store.CompletePublication(t.Context())
		env.WantError(t, want, err, published)
	}
}

// setPublished publishes as a worker does that has published everything.
func setPublished(ctx context.Context, lease *cache.Lease, p cache.PublicationState) error {
	token, err := lease.BeginFullPublication(ctx)
	if err != nil {
		return err
	}
	return lease.SetPublicationState(ctx, p, token)
}
