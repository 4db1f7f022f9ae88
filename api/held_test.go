package api_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/cache/embedded"
	"pnyx/governance"
	"pnyx/test/env"
)

// loneNode returns a node with a clock that can be moved, and what stops its Redis for good.
func loneNode(t *testing.T) (n *node, passed *atomic.Int64, stopRedis func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	url, err := embedded.StartInProcess(ctx)
	if err != nil {
		t.Fatal(err)
	}
	passed = new(atomic.Int64)
	n = startNode(t, settings{redisURL: url, clock: func() time.Time { return noon.Add(time.Duration(passed.Load())) }})
	return n, passed, func() {
		stop()
		env.Until(n, func() error {
			if n.store.Ping(t.Context()) == nil {
				return errors.New("a Redis that was stopped answers")
			}
			return nil
		})
		n.api.ForgetCopies()
	}
}

func TestFreeAnswersOutliveRedis(t *testing.T) {
	t.Parallel()
	n, passed, stopRedis := loneNode(t)
	free := []string{"/v2/daos", "/v2/daos?limit=2", "/v2/daos/uniswap", "/v2/meta/data-status", "/v2/meta/data-status?daoId=uniswap"}
	before := map[string]success{}
	for _, path := range free {
		before[path] = n.wantSuccess(path)
	}
	n.wantSuccess(summaryPath(countedKey))
	stopRedis()
	for _, path := range free {
		for range 2 { // read, and from the copy of a moment
			got := n.wantSuccess(path)
			if string(got.Data) != string(before[path].Data) || got.Meta.DataAsOf != dataAsOf || got.Meta.Readiness.Status != governance.Stale {
				t.Errorf("GET %s without Redis: got %s %+v, want what it was, stale", path, got.Data, got.Meta)
			}
		}
	}
	n.wantUnavailable("/v2/daos/ens")               // never asked for
	n.wantUnavailable(summaryPath(countedKey))      // paid
	n.wantUnavailable("/v2/daos?hasForumData=true") // another page

	passed.Store(int64(time.Hour))
	n.api.ForgetCopies()
	got := n.get("/v2/daos/uniswap")
	const control = "public, max-age=1, s-maxage=1, stale-while-revalidate=1, stale-if-error=82800"
	if got.header.Get("Cache-Control") != control || got.header.Get("Cache-Status") != "pnyx-node; hit; detail=stale" {
		t.Errorf("an hour later: got %v, want %s, and a stale copy", got.header, control)
	}
	if again := n.ask(http.MethodGet, "/v2/daos/uniswap", http.Header{"If-None-Match": {got.header.Get("ETag")}}); again.status != http.StatusNotModified {
		t.Errorf("its ETag again: got %d, want 304", again.status)
	}
	passed.Store(int64(24 * time.Hour))
	n.api.ForgetCopies()
	n.wantUnavailable("/v2/daos/uniswap")
}

func TestWhatIsGoneIsNotHeld(t *testing.T) {
	t.Parallel()
	n, _, stopRedis := loneNode(t)
	n.wantSuccess("/v2/daos/uniswap")
	writer := n.store.NewWriter(2)
	if err := errors.Join(writer.RemoveView(t.Context(), cache.DAODetailKey("uniswap")), writer.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	n.api.ForgetCopies()
	if got := n.get("/v2/daos/uniswap"); got.status != http.StatusNotFound {
		t.Fatalf("a DAO that was removed: got %d, want 404", got.status)
	}
	stopRedis()
	n.wantUnavailable("/v2/daos/uniswap")
}
