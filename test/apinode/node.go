// Package apinode runs API nodes for the tests of what is mounted in them. A worker of its own
// makes the pages of a sample.
package apinode

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"pnyx/access"
	"pnyx/api"
	"pnyx/api/routes"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

const (
	// Soon is how long anything in these tests may take. Nothing waits for it when all is well.
	Soon = time.Minute
	// InternalToken is the token of internal callers of nodes under test.
	InternalToken = "internal-token-of-the-tests-of-nodes"
)

// Main runs the tests of a package whose nodes leave nothing running.
func Main(m *testing.M) {
	env.QuietRedis()
	env.SkipLong()
	goleak.VerifyTestMain(m, env.RedisLeftover(),
		// It keeps the Date header of every server of the process, and never ends.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		// It notices the end of its server at its next round, up to ten seconds later.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// Settings configure a node.
type Settings struct {
	// Sample is what the node serves; without its kinds no page is made.
	Sample Sample
	// Publish publishes something else than the sample.
	Publish func(*Node)
	// Options changes the options of the node. One that is Unready does not wait for what is published, and one
	// without a store watches nothing.
	Options   func(*api.Options)
	Unready   bool
	Documents []api.Document
	// FreeRate is what one address may ask of free routes a minute; zero for any number.
	FreeRate int
	// Trusted are the networks whose word on addresses is taken.
	Trusted []netip.Prefix
	// RedisURL is another Redis than an embedded one of its own.
	RedisURL string
	// Unlogged says that requests are not logged.
	Unlogged bool
	// Payments is where payments go; nil when none are taken.
	Payments *facilitator.Ledger
	Mount    func(*Node) error
}

// Node is a test of a node that serves on a port of its own.
type Node struct {
	testing.TB

	// Base is the URL of the node, without a slash at its end.
	Base     string
	API      *api.API
	Store    *cache.Store
	Registry *prometheus.Registry
	Logged   *env.Buffer
	// Client follows no redirect.
	Client *http.Client

	sample Sample
}

// With returns the node for a subtest, whose failures are its own.
func (n *Node) With(test *testing.T) *Node { //nolint:thelper // the receiver is n
	test.Helper()
	same := *n
	same.TB = test
	return &same
}

// Prices are the prices of the default settings, as test/facilitator takes them.
func Prices() routes.Prices {
	prices := routes.Prices{Token: "USDC", Network: "eip155:84532", Paid: map[string]governance.Decimal{}}
	for _, route := range routes.All() {
		if route.Paid() {
			prices.Paid[route.ID] = "0.005"
		}
	}
	return prices
}

// Start publishes the sample and starts a node that serves it until the end of the test.
func Start(tb testing.TB, s Settings) *Node {
	tb.Helper()
	if s.RedisURL == "" {
		s.RedisURL = env.EmbeddedRedis(tb)
	}
	store := env.Must(cache.Open(s.RedisURL+"?read_timeout=1m", Soon))(tb) // the sample is long on a busy machine
	pipeline := env.Must(cache.OpenPipeline(s.RedisURL, Soon))(tb)
	n := &Node{TB: tb, Store: store, Registry: prometheus.NewRegistry(), Logged: &env.Buffer{}, sample: s.Sample}
	tb.Cleanup(func() { pipeline.Close(); store.Close() })
	if s.Publish == nil {
		s.Publish = (*Node).publish
	}
	s.Publish(n)
	options := api.Options{
		Store: store, RequestTimeout: Soon, StaleAfter: 24 * time.Hour, Prices: Prices(), Documents: s.Documents,
		Logger: slog.New(slog.NewJSONHandler(n.Logged, nil)), Metrics: n.Registry, Log: api.LogOptions{SampleRate: 1},
		Tokens:    access.NewTokenCache(accounts.New(store), time.Time{}),
		Internal:  access.NewInternalTokens([]string{InternalToken}),
		Meter:     access.NewMeter(accounts.New(store), slog.New(slog.DiscardHandler)),
		Addresses: ratelimit.NewIPLimiter(s.FreeRate, s.Trusted, n.Registry),
	}
	options.Limiter = ratelimit.New(ratelimit.Options{Pipeline: pipeline, Logger: options.Logger, Metrics: n.Registry})
	if s.Unlogged {
		options.Log.SampleRate = 0
	}
	if s.Options != nil {
		s.Options(&options)
	}
	if options.Prices.PayPerRequest = s.Payments != nil; s.Payments != nil {
		options.Payments = facilitator.NewGate(tb, s.Payments, accounts.New(store), n.Registry, maps.Keys(options.Prices.Paid))
	}
	n.API = api.New(options)
	if s.Mount != nil {
		env.MustDo(tb, s.Mount(n))
	}
	n.serve(options.Store != nil)
	if !s.Unready {
		env.Until(n, func() error { return n.API.Ready(n.Context()) })
	}
	return n
}

// serve answers on a free port, and makes pages, until the end of the test.
func (n *Node) serve(watches bool) {
	n.Helper()
	listener := env.Must(new(net.ListenConfig).Listen(n.Context(), "tcp", "127.0.0.1:0"))(n)
	n.Base = "http://" + listener.Addr().String()
	transport := &http.Transport{DisableCompression: true}
	n.Client = &http.Client{
		Transport: transport, Timeout: Soon, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	if watches {
		running.Go(func() { n.API.Watch(ctx) })
	}
	if len(n.sample.Kinds) > 0 {
		running.Go(func() { n.work(ctx) })
	}
	running.Go(func() {
		if err := n.API.Serve(listener); err != nil {
			n.Errorf("serve: %v", err)
		}
	})
	n.Cleanup(func() {
		transport.CloseIdleConnections()
		ending, cancel := context.WithTimeout(context.Background(), Soon)
		defer cancel()
		if err := n.API.Shutdown(ending); err != nil {
			n.Errorf("shutdown: %v", err)
		}
		stop()
		running.Wait()
	})
	env.Until(n, func() error { // Shutdown of a server that has not begun does nothing
		_, err := n.TrySend(http.MethodGet, "/", "", http.Header{access.HeaderInternal: {InternalToken}})
		return err
	})
}

// Response is a response, read to its end.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

// Send sends a request.
func (n *Node) Send(method, path, body string, header http.Header) Response {
	n.Helper()
	got, err := n.TrySend(method, path, body, header)
	if err != nil {
		n.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

// TrySend is Send for requests that may fail.
func (n *Node) TrySend(method, path, body string, header http.Header) (Response, error) {
	request, err := http.NewRequestWithContext(n.Context(), method, n.Base+path, strings.NewReader(body))
	if err != nil {
		return Response{}, err
	}
	if host := header.Get("Host"); host != "" {
		request.Host = host
	}
	maps.Copy(request.Header, header)
	answered, err := n.Client.Do(request)
	if err != nil {
		return Response{}, err
	}
	defer answered.Body.Close()
	text, err := io.ReadAll(answered.Body)
	return Response{answered.StatusCode, answered.Header, string(text)}, err
}

// Tokens publishes the tokens of partners.
func (n *Node) Tokens(tokens ...access.Token) {
	n.Helper()
	encoded := access.EncodeTokens(tokens)
	env.MustDo(n, accounts.New(n.Store).SetTokens(n.Context(), uint64(len(tokens))+1, encoded))
}

// Admit publishes one token with limits, waits until the node knows it, and returns it.
func (n *Node) Admit(limits ratelimit.Limits, scopes ...access.Scope) (token string) {
	n.Helper()
	id := access.NewTokenID()
	token = access.GenerateToken(id)
	n.Tokens(access.Token{ID: id, Plan: ratelimit.Custom, Scopes: scopes, Hash: access.HashToken(token), CreatedAt: time.Now(), Limits: &limits})
	env.Until(n, func() error {
		if got := n.Send(http.MethodGet, "/v2/meta/usage", "", http.Header{access.HeaderToken: {token}}); got.Status != http.StatusOK {
			return fmt.Errorf("the token is not known: %d", got.Status)
		}
		return nil
	})
	return token
}
