package cache_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

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
	}
}

func leaseHasOneHolder(t *bench) {
	first, second := t.store.NewLease(time.Hour), t.store.NewLease(time.Hour)
	t.wantAcquire("first", first, nil)
	t.wantAcquire("second, while the first has it", second, cache.ErrNotLeader)
	if err := second.Release(t.Context()); err != nil {
		t.Errorf("release of what one does not have: %v", err)
	}
	t.wantAcquire("second, after its release of nothing", second, cache.ErrNotLeader)
	t.wantAcquire("first again", first, nil)

	if err := first.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.wantAcquire("second, after the first's release", second, nil)
	t.wantAcquire("first, after its release", first, cache.ErrNotLeader)
}

func (t *bench) wantAcquire(who string, lease *cache.Lease, want error) {
	t.Helper()
	if err := lease.Acquire(t.Context()); !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", who, err, want)
	}
}

func leaseIsProlonged(t *bench) {
	lease := t.store.NewLease(time.Hour)
	t.wantAcquire("first", lease, nil)
	if err := t.raw.Expire(t.Context(), string(cache.LeaseKey), time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
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
	t.wantAcquire("first, after its end", first, cache.ErrNotLeader)
}

func loserPublishesNothing(t *bench) {
	first, second := t.store.NewLease(time.Hour), t.store.NewLease(time.Hour)
	if err := setPublished(t.Context(), first, cache.PublicationState{Revision: 1}); !errors.Is(err, cache.ErrNotLeader) {
		t.Errorf("before the lease: got %v, want %v", err, cache.ErrNotLeader)
	}
	t.wantAcquire("first", first, nil)
	if err := setPublished(t.Context(), first, cache.PublicationState{Revision: 2}); err != nil {
		t.Errorf("with the lease: %v", err)
	}
	if err := t.raw.Del(t.Context(), string(cache.LeaseKey)).Err(); err != nil { // as when it ends
		t.Fatal(err)
	}
	t.wantAcquire("second", second, nil)
	if err := setPublished(t.Context(), first, cache.PublicationState{Revision: 3}); !errors.Is(err, cache.ErrNotLeader) {
		t.Errorf("after the lease: got %v, want %v", err, cache.ErrNotLeader)
	}
	if got, err := t.store.PublicationState(t.Context()); err != nil || got.Revision != 2 {
		t.Errorf("published: got revision %d, %v, want 2", got.Revision, err)
	}
}

func publishedRoundTrip(t *bench) {
	want := cache.PublicationState{
		Revision: 1709210096007123, CommittedThrough: 1709210096007120, HeartbeatAt: 1709210096008, CursorKey: []byte("0123456789abcdef"),
	}
	lease := t.store.NewLease(time.Hour)
	t.wantAcquire("worker", lease, nil)
	if err := setPublished(t.Context(), lease, want); err != nil {
		t.Fatal(err)
	}
	got, err := t.store.PublicationState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}

func flushedIsUnpublished(t *bench) {
	check := func(when string) error {
		_, err := t.store.PublicationState(t.Context())
		if !errors.Is(err, cache.ErrMiss) || errors.Is(err, cache.ErrUnavailable) {
			return fmt.Errorf("%s: got %w, want %w", when, err, cache.ErrMiss)
		}
		return nil
	}
	if err := check("at first"); err != nil {
		t.Error(err)
	}
	lease := t.store.NewLease(time.Hour)
	t.wantAcquire("worker", lease, nil)
	if err := setPublished(t.Context(), lease, cache.PublicationState{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	env.FlushRedis(t, t.raw)
	if err := check("after a flush"); err != nil {
		t.Error(err)
	}
	if err := setPublished(t.Context(), lease, cache.PublicationState{Revision: 2}); !errors.Is(err, cache.ErrNotLeader) {
		t.Errorf("the lease went with the flush: got %v, want %v", err, cache.ErrNotLeader)
	}
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

// setPublished publishes as a worker does that has published everything.
func setPublished(ctx context.Context, lease *cache.Lease, p cache.PublicationState) error {
	token, err := lease.BeginFullPublication(ctx)
	if err != nil {
		return err
	}
	return lease.SetPublicationState(ctx, p, token)
}
