package explore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"pnyx/access"
	"pnyx/api"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/explore"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/page"
	"pnyx/ratelimit"
	"pnyx/test/env"
)

// soon is how long anything in these tests may take. Nothing waits for it when all is well.
const soon = time.Minute

// internalToken is that of internal callers of nodes under test.
const internalToken = "internal-token-of-the-tests-of-the-pages"

func TestMain(m *testing.M) {
	env.QuietRedis()
	goleak.VerifyTestMain(m, env.RedisLeftover(),
		// It keeps the Date header of every server of the process, and never ends.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		// It notices the end of its server at its next round, up to ten seconds later.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// node is a test of a node that serves the pages on a port of its own, before a worker that
// makes the pages of the sample.
type node struct {
	*testing.T

	base     string
	api      *api.API
	store    *cache.Store
	registry *prometheus.Registry
	log      *env.Buffer
	client   *http.Client
}

// with returns the node for a subtest, whose failures are its own.
func (t *node) with(test *testing.T) *node { //nolint:thelper // the receiver is t
	test.Helper()
	same := *t
	same.T = test
	return &same
}

// newNode starts a node whose free routes answer an address any number of times.
func newNode(t *testing.T) *node {
	t.Helper()
	return startNode(t, 0)
}

// startNode starts a node whose free routes answer an address so often a minute.
func startNode(t *testing.T, freeRate int) *node {
	t.Helper()
	redisURL := env.EmbeddedRedis(t)
	store, err := cache.Open(redisURL, soon)
	if err != nil {
		t.Fatal(err)
	}
	pipeline, err := cache.OpenPipeline(redisURL, soon)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{T: t, store: store, registry: prometheus.NewRegistry(), log: &env.Buffer{}}
	t.Cleanup(func() { pipeline.Close(); store.Close() })
	n.publishSample()
	prices := api.Prices{Token: "USDC", Network: "eip155:84532", Paid: map[string]governance.Decimal{}}
	for _, route := range api.Routes() {
		if route.Paid() {
			prices.Paid[route.ID] = "0.005"
		}
	}
	options := api.Options{
		Store: store, RequestTimeout: soon, StaleAfter: 24 * time.Hour, Prices: prices,
		Documents: slices.Concat(page.Documents(), explore.Documents()),
		Logger:    slog.New(slog.NewJSONHandler(n.log, nil)), Metrics: n.registry, Log: api.LogOptions{SampleRate: 1},
		Tokens:   access.NewTokenCache(accounts.New(store), time.Time{}),
		Internal: access.NewInternalTokens([]string{internalToken}),
		Meter:    access.NewMeter(accounts.New(store), slog.New(slog.DiscardHandler)),
	}
	options.Limiter = ratelimit.New(ratelimit.Options{Pipeline: pipeline, Logger: options.Logger, Metrics: n.registry})
	options.Addresses = ratelimit.NewIPLimiter(freeRate, nil, n.registry)
	n.api = api.New(options)
	if err := explore.Mount(explore.Options{Node: n.api, Prices: prices}); err != nil {
		t.Fatal(err)
	}
	n.serve()
	return n
}

// serve answers on a free port, and makes pages, until the end of the test.
func (t *node) serve() {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.base = "http://" + listener.Addr().String()
	transport := &http.Transport{DisableCompression: true}
	t.client = &http.Client{
		Transport: transport, Timeout: soon, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { t.api.Watch(ctx) })
	running.Go(func() { t.work(ctx) })
	running.Go(func() {
		if err := t.api.Serve(listener); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		ending, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		if err := t.api.Shutdown(ending); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		stop()
		running.Wait()
	})
	env.Until(t, func() error { return t.api.Ready(t.Context()) })
	env.Until(t, func() error { // Shutdown of a server that has not begun does nothing
		if got := t.send(http.MethodGet, "/explore/explore.css"); got.status != http.StatusOK {
			return fmt.Errorf("got %d", got.status)
		}
		return nil
	})
}

// response is a response, read to its end.
type response struct {
	status int
	header http.Header
	body   string
}

// send sends a request; headers alternate names and values.
func (t *node) send(method, path string, headers ...string) response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, t.base+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answered, err := t.client.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer answered.Body.Close()
	text, err := io.ReadAll(answered.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return response{answered.StatusCode, answered.Header, string(text)}
}

// asInternal is the header of callers that are neither limited nor asked for payment.
func asInternal() []string { return []string{access.HeaderInternal, internalToken} }

// page gets a page, which must be there.
func (t *node) page(path string, headers ...string) string {
	t.Helper()
	got := t.send(http.MethodGet, path, headers...)
	if got.status != http.StatusOK || got.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("GET %s: got %d %s %s, want a page", path, got.status, got.header.Get("Content-Type"), got.body)
	}
	return got.body
}

// work makes pages of the sample until ctx ends.
func (t *node) work(ctx context.Context) {
	one := func(query.Kind) int { return 1 }
	for ctx.Err() == nil {
		fills, err := t.store.DequeueFills(ctx, sampleKinds(), cache.Oldest, one, time.Second)
		if err != nil {
			continue // nothing to do, or a Redis that a busy machine keeps waiting: nodes ask again
		}
		t.fill(fills[0].Page)
	}
}

func (t *node) fill(request cache.PageRequest) {
	ctx := context.Background()
	rows, known, err := samplePage(request)
	if err != nil {
		t.Errorf("page of %s: %v", request.Kind, err)
		return
	}
	head := cache.View{
		Revision: 1, DataAsOf: sampleAsOf, Readiness: governance.Ready, Absent: !known,
		FreshUntil: new(governance.TimestampOf(time.Now().Add(24 * time.Hour))),
	}
	view, err := cache.NewView(head, rows)
	if err != nil {
		t.Errorf("view of %s: %v", request.Kind, err)
		return
	}
	_ = t.store.SetPages(ctx, []cache.PageRequest{request}, []cache.View{view}) // nodes ask again, as above
	_ = t.store.CompleteFills(ctx, cache.CompletedFill{Page: request})
}

// admit publishes a token with such limits, and waits until the node knows it.
func (t *node) admit(scope access.Scope, limits ratelimit.Limits) (token string) {
	t.Helper()
	id := access.NewTokenID()
	token = access.GenerateToken(id)
	encoded, err := access.EncodeTokens([]access.Token{{
		ID: id, Plan: ratelimit.Custom, Scopes: []access.Scope{scope}, Hash: access.HashToken(token), CreatedAt: time.Now(), Limits: &limits,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := accounts.New(t.store).SetTokens(t.Context(), 2, encoded); err != nil {
		t.Fatal(err)
	}
	env.Until(t, func() error {
		if got := t.send(http.MethodGet, "/v2/meta/usage", access.HeaderToken, token); got.status != http.StatusOK {
			return fmt.Errorf("the token is not known: %d", got.status)
		}
		return nil
	})
	return token
}

// ample are limits that no test reaches.
func ample() ratelimit.Limits {
	rate := ratelimit.Rate{PerMinute: 6000, Burst: 2000}
	return ratelimit.Limits{Month: 10_000, Standard: rate, Detail: rate}
}

// used is how many answers of the month a token has used.
func (t *node) used(token string) string {
	t.Helper()
	got := t.send(http.MethodGet, "/v2/meta/usage", access.HeaderToken, token)
	var usage struct {
		Data struct{ Month struct{ Used string } }
	}
	if err := json.Unmarshal([]byte(got.body), &usage); err != nil {
		t.Fatalf("decode %s: %v", got.body, err)
	}
	return usage.Data.Month.Used
}
