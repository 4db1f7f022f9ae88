package api_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"pnyx/api/routes"
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
			fills, err := t.store.DequeueFills(ctx, routes.PageKinds(), cache.Oldest, func(query.Kind) int { return 1 }, time.Second)
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
