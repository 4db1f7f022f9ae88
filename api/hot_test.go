package api_test

import (
	"context"
	"errors"
	"log/slog"
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

// hotPath is answered from the node's own copy.
const hotPath = "/v2/daos/uniswap"

// hotNode returns the handler of a node that knows its tokens and the publication.
func hotNode(tb testing.TB, tokens ...access.Token) fasthttp.RequestHandler {
	tb.Helper()
	return watchedNode(tb, prometheus.NewRegistry(), 1_000_000_000, tokens...).Handler()
}

// watchedNode returns a node that knows its tokens and the publication, and allows each
// address so many requests of free routes a minute.
func watchedNode(tb testing.TB, metrics prometheus.Registerer, freeRate int, tokens ...access.Token) *api.API {
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
		Logger: slog.New(slog.DiscardHandler), Metrics: metrics,
	}
	settings{redisURL: url, freeRate: freeRate}.setAccess(tb, &options)
	node := api.New(options)
	tb.Cleanup(node.ForgetForGood)
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { node.Watch(ctx) })
	tb.Cleanup(func() { stop(); watching.Wait() })
	env.Until(tb, func() error {
		if !node.Watched() {
			return errors.New("the publication state is not read yet")
		}
		return options.Tokens.Ready()
	})
	return node
}

// publishHot publishes the answers to hot requests, and the tokens.
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

// sender returns a function that sends the same request to a handler each time.
func sender(tb testing.TB, handler fasthttp.RequestHandler, path string, header http.Header) func() {
	tb.Helper()
	var c fasthttp.RequestCtx
	send := func() {
		c.Response.Reset()
		c.ResetUserValues()
		c.Request.Header.SetMethod(http.MethodGet)
		c.Request.SetRequestURI(path)
		c.Request.Header.SetHost("api.example.com")
		handler(&c)
	}
	c.Init(&fasthttp.Request{}, nil, nil)
	for name, values := range header {
		c.Request.Header.Set(name, values[0])
	}
	send()
	if got := c.Response.StatusCode(); got != http.StatusOK {
		tb.Fatalf("GET %s: got %d %s, want 200", path, got, c.Response.Body())
	}
	return send
}

// BenchmarkHit answers a free route from the node's own copy, without a socket.
func BenchmarkHit(b *testing.B) {
	send := sender(b, hotNode(b), hotPath, nil)
	b.ReportAllocs()
	for b.Loop() {
		send()
	}
}

// BenchmarkPaidHit is BenchmarkHit with a token, a bucket and a quota, which an
// embedded Redis keeps.
func BenchmarkPaidHit(b *testing.B) {
	record, token := partner(ratelimit.Custom, access.V2All)
	plenty := ratelimit.Rate{PerMinute: 1_000_000_000, Burst: 1_000_000_000}
	record.Limits = &ratelimit.Limits{Month: 1 << 40, Standard: plenty, Detail: plenty}
	send := sender(b, hotNode(b, record), "/v2/proposals/"+string(countedKey)+"/votes/summary", http.Header{access.HeaderToken: {token}})
	b.ReportAllocs()
	for b.Loop() {
		send()
	}
}

// BenchmarkBareFiber sends the same number of bytes from a handler of Fiber alone.
func BenchmarkBareFiber(b *testing.B) {
	app := fiber.New()
	body := make([]byte, 500)
	app.Get(hotPath, func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSONCharsetUTF8)
		return c.Send(body)
	})
	send := sender(b, app.Handler(), hotPath, nil)
	b.ReportAllocs()
	for b.Loop() {
		send()
	}
}

func TestMetaEncodesAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	cursor := "EDuh5eTB9Cmn-_"
	for name, page := range map[string]*api.Page{
		"no list": nil, "the last page": {Limit: 25}, "a page": {Limit: 500, HasMore: true, NextCursor: &cursor},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, want, err := api.MetaTexts("4bf92f35-77b3", governance.TimestampOf(noon), dataAsOf, governance.Stale, page)
			if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
