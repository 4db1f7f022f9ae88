package api_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"pnyx/api"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
)

// fillPages completes every fill that the node enqueues with one view, until the test ends.
func (t *node) fillPages(view cache.View) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var filling sync.WaitGroup
	filling.Go(func() {
		for ctx.Err() == nil {
			fills, err := t.store.DequeueFills(ctx, api.PageKinds(), cache.Oldest, func(query.Kind) int { return 1 }, time.Second)
			if errors.Is(err, cache.ErrNoFill) || ctx.Err() != nil {
				continue
			}
			if err == nil {
				err = t.store.CompleteFills(ctx, []cache.CompletedFill{{Page: fills[0].Page, View: &view}})[0]
			}
			if err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	t.Cleanup(func() {
		stop()
		filling.Wait()
	})
}

// The worker's clock may be behind, or the page may take longer to make than it stays fresh.
func TestPageThatHasExpiredWhenItIsMadeIsAnswered(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	expired := governance.TimestampOf(time.Now().Add(-time.Minute))
	view, err := cache.NewView(
		cache.View{DataAsOf: dataAsOf, Readiness: governance.Ready, FreshUntil: &expired}, []governance.EventRow{})
	if err != nil {
		t.Fatal(err)
	}
	n.fillPages(view)
	got := n.get("/v2/events?daoId=nobody&from=2026-01-01&to=2026-02-01")
	if got.status != http.StatusOK {
		t.Errorf("got %d %s, want 200 with the page that was made", got.status, got.body)
	}
}

func TestTheCallerOfAPageHasTheNextOnesMade(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const path = "/v2/events?daoId=nobody&from=2026-01-01&to=2026-02-01"
	request := make(chan cache.PageRequest, 1)
	ahead := cache.NewPageRequest(query.Profile{Voter: "ahead"})
	until := governance.TimestampOf(time.Now().Add(time.Hour))
	view, err := cache.NewView(
		cache.View{DataAsOf: dataAsOf, Readiness: governance.Ready, FreshUntil: &until, Next: &ahead}, []governance.EventRow{})
	if err != nil {
		t.Fatal(err)
	}
	one := func(query.Kind) int { return 1 }
	go func() {
		if fills, err := n.store.DequeueFills(t.Context(), []query.Kind{query.KindEvents}, cache.Oldest, one, time.Minute); err == nil {
			_ = n.store.CompleteFills(t.Context(), []cache.CompletedFill{{Page: fills[0].Page, View: &view}})
			request <- fills[0].Page
		}
	}()
	if got := n.get(path); got.status != http.StatusOK {
		t.Fatalf("got %d %s, want 200", got.status, got.body)
	}
	if made := <-request; made.Shown != 0 {
		t.Errorf("got a request of a caller who goes on after %d rows, want none: there is no cursor", made.Shown)
	}
	fills, err := n.store.DequeueFills(t.Context(), []query.Kind{query.KindProfile}, cache.Oldest, one, time.Minute)
	if err != nil || fills[0].Page.Key() != ahead.Key() {
		t.Fatalf("got %v, %v, want the page that the view tells of", fills, err)
	}
}
