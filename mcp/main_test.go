package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"pnyx/access"
	"pnyx/api"
	"pnyx/api/doc"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/mcp"
	"pnyx/ratelimit"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// soon is how long anything in these tests may take. Nothing waits for it when all is well.
const soon = time.Minute

// internalToken is that of internal callers of nodes under test.
const internalToken = "internal-token-of-the-tests-of-the-tools"

func TestMain(m *testing.M) {
	env.QuietRedis()
	goleak.VerifyTestMain(m, env.RedisLeftover(),
		// It keeps the Date header of every server of the process, and never ends.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		// It notices the end of its server at its next round, up to ten seconds later.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// settings say in what a node differs from the usual.
type settings struct {
	// freeRate is what one address may ask of free routes a minute; zero for any number.
	freeRate int
	// redisURL is another Redis than an embedded one of its own.
	redisURL string
	// unlogged says that calls are not logged.
	unlogged bool
	// payments is where payments go; nil when none are taken.
	payments *facilitator.Ledger
}

// node is a test of a node that serves the tools on a port of its own, before a worker that
// makes the pages of the sample.
type node struct {
	testing.TB

	base     string
	api      *api.API
	tools    *mcp.Server
	store    *cache.Store
	registry *prometheus.Registry
	log      *env.Buffer
	client   *http.Client
}

// with returns the node for a subtest, whose failures are its own.
func (t *node) with(test *testing.T) *node { //nolint:thelper // the receiver is t
	test.Helper()
	same := *t
	same.TB = test
	return &same
}

func newNode(t *testing.T) *node {
	t.Helper()
	return startNode(t, settings{})
}

func startNode(t testing.TB, s settings) *node { //nolint:thelper // as the receiver of node
	t.Helper()
	redisURL := s.redisURL
	if redisURL == "" {
		redisURL = env.EmbeddedRedis(t)
	}
	store, err := cache.Open(redisURL+"?read_timeout=1m", soon) // the sample is long on a busy machine
	if err != nil {
		t.Fatal(err)
	}
	pipeline, err := cache.OpenPipeline(redisURL, soon)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{TB: t, store: store, registry: prometheus.NewRegistry(), log: &env.Buffer{}}
	t.Cleanup(func() { pipeline.Close(); store.Close() })
	n.publishSample()
	prices := samplePrices()
	options := api.Options{
		Store: store, RequestTimeout: soon, StaleAfter: 24 * time.Hour, Prices: prices, Documents: doc.Documents(doc.Node{Prices: prices}),
		Logger: slog.New(slog.NewJSONHandler(n.log, nil)), Metrics: n.registry, Log: api.LogOptions{SampleRate: 1},
		Tokens:   access.NewTokenCache(accounts.New(store), time.Time{}),
		Internal: access.NewInternalTokens([]string{internalToken}),
		Meter:    access.NewMeter(accounts.New(store), slog.New(slog.DiscardHandler)),
	}
	if s.unlogged {
		options.Log.SampleRate = 0
	}
	options.Limiter = ratelimit.New(ratelimit.Options{Pipeline: pipeline, Logger: options.Logger, Metrics: n.registry})
	options.Addresses = ratelimit.NewIPLimiter(s.freeRate, nil, n.registry)
	if s.payments != nil {
		options.Payments = facilitator.NewGate(t, s.payments, accounts.New(store), n.registry, maps.Keys(prices.Paid))
	}
	n.api = api.New(options)
	n.tools = mcp.New(mcp.Options{
		Node: n.api, PublicURL: "https://api.example.org", Origins: []string{"https://app.example.org"},
		Documents: options.Documents, Metrics: n.registry,
	})
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
	t.client = &http.Client{Transport: transport, Timeout: soon}
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
		if got := t.send(http.MethodGet, mcp.Path, "", nil); got.status != http.StatusMethodNotAllowed {
			return fmt.Errorf("got %d", got.status)
		}
		return nil
	})
}

// samplePrices are those of the default settings, as test/facilitator takes them.
func samplePrices() api.Prices {
	prices := api.Prices{Token: "USDC", Network: "eip155:84532", Paid: map[string]governance.Decimal{}}
	for _, route := range api.Routes() {
		if route.Paid() {
			prices.Paid[route.ID] = "0.005"
		}
	}
	return prices
}

// response is a response, read to its end.
type response struct {
	status int
	header http.Header
	body   string
}

// send sends a request.
func (t *node) send(method, path, body string, header http.Header) response {
	t.Helper()
	got, err := t.trySend(method, path, body, header)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

func (t *node) trySend(method, path, body string, header http.Header) (response, error) {
	request, err := http.NewRequestWithContext(t.Context(), method, t.base+path, strings.NewReader(body))
	if err != nil {
		return response{}, err
	}
	if host := header.Get("Host"); host != "" {
		request.Host = host
	}
	maps.Copy(request.Header, header)
	answered, err := t.client.Do(request)
	if err != nil {
		return response{}, err
	}
	defer answered.Body.Close()
	text, err := io.ReadAll(answered.Body)
	return response{answered.StatusCode, answered.Header, string(text)}, err
}

// headers are the header of every POST; with further pairs of name and value.
func headers(pairs ...string) http.Header {
	header := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			header.Del(pairs[i])
		} else {
			header.Set(pairs[i], pairs[i+1])
		}
	}
	return header
}

// post sends a message as a client with a handshake does.
func (t *node) post(body string, pairs ...string) response {
	t.Helper()
	return t.send(http.MethodPost, mcp.Path, body, headers(pairs...))
}

// rpc is a response of the protocol.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// toolResult is the result of a call.
type toolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	StructuredContent json.RawMessage            `json:"structuredContent"`
	IsError           bool                       `json:"isError"`
	Meta              map[string]json.RawMessage `json:"_meta"`
}

// envelope is structuredContent of a success or of an error.
type envelope struct {
	Data json.RawMessage `json:"data"`
	Meta struct {
		RequestID string `json:"requestId"`
		Page      *struct {
			Limit      int     `json:"limit"`
			HasMore    bool    `json:"hasMore"`
			NextCursor *string `json:"nextCursor"`
		} `json:"page"`
	} `json:"meta"`
	Error struct {
		Code    api.Code        `json:"code"`
		Message string          `json:"message"`
		Details json.RawMessage `json:"details"`
	} `json:"error"`
}

// decode reads JSON.
func decode[Value any](tb testing.TB, text string) Value {
	tb.Helper()
	var value Value
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		tb.Fatalf("decode %s: %v", text, err)
	}
	return value
}

// asInternal is the header of callers that are neither limited nor asked for payment.
func asInternal() []string { return []string{access.HeaderInternal, internalToken} }

// callAs calls a tool.
func (t *node) callAs(tool, arguments string, header ...string) toolResult {
	t.Helper()
	got := t.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments), header...)
	if got.status != http.StatusOK {
		t.Fatalf("call %s %s: got %d %s, want 200", tool, arguments, got.status, got.body)
	}
	response := decode[rpc](t, got.body)
	if response.Error != nil {
		t.Fatalf("call %s %s: got the protocol error %+v", tool, arguments, response.Error)
	}
	return decode[toolResult](t, string(response.Result))
}

// wantData calls a tool as an internal caller, which must succeed.
func (t *node) wantData(tool, arguments string) envelope {
	t.Helper()
	got := t.callAs(tool, arguments, asInternal()...)
	if got.IsError {
		t.Fatalf("call %s %s: got the error %s", tool, arguments, got.Content[0].Text)
	}
	if got.Content[0].Text != string(got.StructuredContent) {
		t.Errorf("call %s %s: text and structure differ", tool, arguments)
	}
	return decode[envelope](t, string(got.StructuredContent))
}

// httpData reads a route over HTTP as an internal caller.
func (t *node) httpData(path string) envelope {
	t.Helper()
	got := t.send(http.MethodGet, path, "", http.Header{access.HeaderInternal: {internalToken}})
	if got.status != http.StatusOK {
		t.Fatalf("GET %s: got %d %s, want 200", path, got.status, got.body)
	}
	return decode[envelope](t, got.body)
}

// work makes pages of the sample until ctx ends.
func (t *node) work(ctx context.Context) {
	kinds := sampleKinds()
	one := func(query.Kind) int { return 1 }
	for ctx.Err() == nil {
		fills, err := t.store.DequeueFills(ctx, kinds, cache.Oldest, one, time.Second)
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
