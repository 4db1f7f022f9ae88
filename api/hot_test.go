package api_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"pnyx/access"
	"pnyx/api"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/test/env"
)

// hotPath is answered from the node's own copy, again and again.
const hotPath = "/v2/daos/uniswap"

// hotNode is a node without a socket, whose tokens are known and whose answers are
// at hand.
func hotNode(tb testing.TB, tokens ...access.Token) fasthttp.RequestHandler {
	tb.Helper()
	url := env.EmbeddedRedis(tb)
	store, err := cache.Open(url, soon)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { store.Close() })
	publishHot(tb, store, tokens)
	options := api.Options{
		Store: store, RequestTimeout: soon, StaleAfter: time.Hour, Prices: samplePrices(),
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	}
	settings{redisURL: url, freeRate: 1_000_000_000}.openDoors(tb, &options)
	node := api.New(options)
	tb.Cleanup(node.ForgetForGood)
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { node.Watch(ctx) })
	tb.Cleanup(func() { stop(); watching.Wait() })
	for deadline := time.Now().Add(soon); !node.Watched() || options.Tokens.Ready() != nil; {
		if time.Now().After(deadline) {
			tb.Fatal(errors.New("the node does not know what is published"))
		}
	}
	return node.Handler()
}

// publishHot publishes what hot requests ask for.
func publishHot(tb testing.TB, store *cache.Store, tokens []access.Token) {
	tb.Helper()
	writer := store.NewWriter(1)
	for key, payload := range map[cache.Key]any{
		cache.DAODetailKey("uniswap"): uniswapDetail(), cache.VoteSummaryKey(countedKey): countedSummary(),
	} {
		view, err := cache.NewView(cache.View{DataAsOf: dataAsOf, Readiness: governance.Ready}, payload)
		if err == nil {
			err = writer.SetView(tb.Context(), key, view)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	encoded, err := access.EncodeTokens(tokens)
	if err == nil {
		err = errors.Join(writer.Flush(tb.Context()), accounts.New(store).SetTokens(tb.Context(), 1, encoded))
	}
	if err != nil {
		tb.Fatal(err)
	}
	lease := store.NewLease(time.Hour)
	if err := lease.Acquire(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	state := cache.PublicationState{Revision: 1, HeartbeatAt: governance.TimestampOf(time.Now()), CursorKey: []byte(cursorKey)}
	if err := setPublished(tb.Context(), lease, state); err != nil {
		tb.Fatal(err)
	}
}

// asking is a request that can be sent to a handler any number of times.
func asking(tb testing.TB, handler fasthttp.RequestHandler, path string, header http.Header) func() {
	tb.Helper()
	var c fasthttp.RequestCtx
	ask := func() {
		c.Response.Reset()
		c.ResetUserValues()
		c.Request.Header.SetMethod(http.MethodGet)
		c.Request.SetRequestURI(path)
		handler(&c)
	}
	c.Init(&fasthttp.Request{}, nil, nil)
	for name, values := range header {
		c.Request.Header.Set(name, values[0])
	}
	ask()
	if got := c.Response.StatusCode(); got != http.StatusOK {
		tb.Fatalf("GET %s: got %d %s, want 200", path, got, c.Response.Body())
	}
	return ask
}

// TestAHitAllocatesLittle keeps what a hit leaves for the garbage collector from
// growing unnoticed. It goes by the best of many short runs: what the node does beside
// answering allocates too, and so does the race detector, for which there is room.
func TestAHitAllocatesLittle(t *testing.T) {
	const most = 20
	ask := asking(t, hotNode(t), hotPath, nil)
	best := math.Inf(1)
	for range 50 {
		best = min(best, testing.AllocsPerRun(50, ask))
	}
	if best > most {
		t.Errorf("a hit makes %.0f allocations, want %d at the most", best, most)
	}
}

// BenchmarkHit answers a free route from the node's own copy, without a socket.
func BenchmarkHit(b *testing.B) {
	ask := asking(b, hotNode(b), hotPath, nil)
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}

// BenchmarkPaidHit is BenchmarkHit with a token, a bucket and a quota, which an
// embedded Redis keeps.
func BenchmarkPaidHit(b *testing.B) {
	record, token := partner(ratelimit.Custom, access.V2All)
	plenty := ratelimit.Rate{PerMinute: 1_000_000_000, Burst: 1_000_000_000}
	record.Limits = &ratelimit.Limits{Month: 1 << 40, Standard: plenty, Detail: plenty}
	ask := asking(b, hotNode(b, record), "/v2/proposals/"+string(countedKey)+"/votes/summary", http.Header{access.HeaderToken: {token}})
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}

// BenchmarkBareFiber is what Fiber itself takes for that.
func BenchmarkBareFiber(b *testing.B) {
	app := fiber.New()
	body := make([]byte, 500)
	app.Get(hotPath, func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSONCharsetUTF8)
		return c.Send(body)
	})
	ask := asking(b, app.Handler(), hotPath, nil)
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}

// TestMetaIsWhatTheEncoderWrites holds what is written by hand to what encoding/json
// makes of the same.
func TestMetaIsWhatTheEncoderWrites(t *testing.T) {
	t.Parallel()
	cursor := "EDuh5eTB9Cmn-_"
	for name, page := range map[string]*api.Page{
		"one thing": nil, "the last page": {Limit: 25}, "a page": {Limit: 500, HasMore: true, NextCursor: &cursor},
	} {
		got, want, err := api.MetaTexts("4bf92f35-77b3", governance.TimestampOf(noon), dataAsOf, governance.Stale, page)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
