package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/cache/embedded"
	"pnyx/governance"
	"pnyx/test/env"
)

func TestNodesReceiveWhatAPublicationChanged(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	received := make(chan cache.Notification, 10)
	connected := make(chan struct{})
	go n.Store.Subscribe(t.Context(), func(got cache.Notification) {
		if got.Number == 0 {
			close(connected)
			return
		}
		received <- got
	})
	<-connected
	_, before, err := n.Store.PublicationProgress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	writer := n.Store.NewWriter(2)
	writer.RemoveView(t.Context(), cache.DAODetailKey("ens"))
	env.MustDo(t, n.Store.Notify(t.Context(), writer.Changed()))
	got := <-received
	if got.Number != before+1 || len(got.Tags) != 1 || got.Tags[0] != cache.DAOTag("ens") {
		t.Errorf("got %+v, want notification %d, of ens", got, before+1)
	}
}

// loneNode returns a node with a clock that can be moved, and what stops its Redis for good.
func loneNode(t *testing.T) (n *node, passed *atomic.Int64, stopRedis func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	url := env.Must(embedded.StartInProcess(ctx))(t)
	passed = new(atomic.Int64)
	n = startNode(t, settings{redisURL: url, clock: func() time.Time { return noon.Add(time.Duration(passed.Load())) }})
	return n, passed, func() {
		stop()
		env.Until(n, func() error {
			if n.Store.Ping(t.Context()) == nil {
				return errors.New("a Redis that was stopped answers")
			}
			return nil
		})
		n.API.ForgetCopies()
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
	n.API.ForgetCopies()
	got := n.get("/v2/daos/uniswap")
	const control = "public, max-age=1, s-maxage=1, stale-while-revalidate=1, stale-if-error=82800"
	if got.header.Get("Cache-Control") != control || got.header.Get("Cache-Status") != "pnyx-node; hit; detail=stale" {
		t.Errorf("an hour later: got %v, want %s, and a stale copy", got.header, control)
	}
	env.Want(t, http.StatusNotModified, n.ask(http.MethodGet, "/v2/daos/uniswap", http.Header{"If-None-Match": {got.header.Get("ETag")}}).status, "its ETag again")
	passed.Store(int64(24 * time.Hour))
	n.API.ForgetCopies()
	n.wantUnavailable("/v2/daos/uniswap")
}

func TestWhatIsGoneIsNotHeld(t *testing.T) {
	t.Parallel()
	n, _, stopRedis := loneNode(t)
	n.wantSuccess("/v2/daos/uniswap")
	writer := n.Store.NewWriter(2)
	writer.RemoveView(t.Context(), cache.DAODetailKey("uniswap"))
	env.MustDo(t, writer.Flush(t.Context()))
	n.API.ForgetCopies()
	if got := n.get("/v2/daos/uniswap"); got.status != http.StatusNotFound {
		t.Fatalf("a DAO that was removed: got %d, want 404", got.status)
	}
	stopRedis()
	n.wantUnavailable("/v2/daos/uniswap")
}

// It is not parallel: it takes the machine for itself.
func TestAThousandCallersOfAColdAnswerShareItsRead(t *testing.T) {
	// few allow for callers that arrive after the others, or before a publication that the
	// node learns of meanwhile.
	const callers, few = 1000, 10
	redis := env.Redis(t)
	n := startNode(t, settings{redisURL: redis.URL})
	n.Client.Timeout = 10 * soon // the node gives up first
	monitored := redis.Monitor()
	redis.Pause()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		env.Concurrently(t, callers, callers, func(int) error {
			got, err := n.TrySend(http.MethodGet, hotPath, "", http.Header{access.HeaderInternal: {internalToken}})
			if err == nil && got.Status != http.StatusOK {
				err = fmt.Errorf("got %d, want 200", got.Status)
			}
			return err
		})
	}()
	env.Until(t, func() error {
		if got := n.counts("pnyx_http_requests_in_flight")[""]; got < callers {
			return fmt.Errorf("%v callers wait, want %d", got, callers)
		}
		return nil
	})
	redis.Resume()
	<-answered
	if got := n.counts("pnyx_cache_joined_reads_total")[""]; got < callers-few {
		t.Errorf("%v callers waited for another, want %d", got, callers-few)
	}
	if got := monitored(string(cache.DAODetailKey("uniswap"))); len(got) == 0 || len(got) > few {
		t.Errorf("got %d reads, want 1 to %d: %q", len(got), few, got)
	}
}
