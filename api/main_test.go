package api_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"pnyx/access"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/api/routes"
	"pnyx/governance"
	"pnyx/reference"
	"pnyx/test/apinode"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// soon is how long anything in these tests may take. Nothing waits for it when
// all is well.
const soon = time.Minute

// staleAfter is the silence of a worker that nodes under test put up with.
const staleAfter = 15 * time.Second

// noon is when the clock of nodes under test stands still.
var noon = time.Date(2024, 3, 1, 12, 0, 0, int(5*time.Millisecond), time.UTC)

func TestMain(m *testing.M) { apinode.Main(m) }

// node is a test of an API node that serves on a port of its own.
type node struct {
	*apinode.Node

	redisURL string
}

// with returns the node for a subtest, whose failures are its own.
func (t *node) with(test *testing.T) *node { //nolint:thelper // the receiver is t
	test.Helper()
	return &node{t.With(test), t.redisURL}
}

// settings say in what a node differs from the usual.
type settings struct {
	// redisURL is another Redis than an embedded one of its own.
	redisURL string
	// unpublished leaves Redis as it is, instead of publishing the samples.
	unpublished bool
	// broken takes the node's store away, so that its handlers panic.
	broken bool
	// timeout is another than soon.
	timeout time.Duration
	// readTimeout is another bound on reading a request than the node's.
	readTimeout time.Duration
	// clock is another than noon.
	clock func() time.Time
	// freeRate is what one address may ask of free routes a minute; zero for any number.
	freeRate int
	// trusted are the networks whose word on addresses is taken.
	trusted []netip.Prefix
	// log says which requests are logged.
	log api.LogOptions
	// purgeEnabled says that shared caches are told of publications.
	purged bool
	// payments is where payments for single requests go; nil when none are taken.
	payments *facilitator.Ledger
	// prepare changes the node before it serves; nil changes nothing.
	prepare func(*api.API)
}

// newNode publishes the samples and starts a node that knows of them.
func newNode(t *testing.T) *node {
	t.Helper()
	return startNode(t, settings{})
}

func startNode(t *testing.T, s settings) *node {
	t.Helper()
	if s.redisURL == "" {
		s.redisURL = env.EmbeddedRedis(t)
	}
	if s.clock == nil {
		s.clock = func() time.Time { return noon }
	}
	n := &node{redisURL: s.redisURL}
	n.Node = apinode.Start(t, apinode.Settings{
		RedisURL: s.redisURL, FreeRate: s.freeRate, Trusted: s.trusted, Payments: s.payments, Unready: true,
		Publish: func(published *apinode.Node) {
			if n.Node = published; !s.unpublished {
				n.publishSamples()
			}
		},
		Options: func(o *api.Options) {
			o.RequestTimeout, o.StaleAfter, o.Prices, o.PurgeEnabled, o.Log = cmp.Or(s.timeout, soon), staleAfter, samplePrices(), s.purged, s.log
			o.Documents = reference.Documents(reference.Node{Prices: samplePrices()})
			if s.broken {
				o.Store = nil
			}
		},
		Mount: func(mounted *apinode.Node) error {
			mounted.API.SetClock(s.clock)
			mounted.API.SetExamplesTimeout(soon)
			if s.readTimeout != 0 {
				mounted.API.SetReadTimeout(s.readTimeout)
			}
			if s.prepare != nil {
				s.prepare(mounted.API)
			}
			return nil
		},
	})
	if !s.unpublished && !s.broken {
		n.waitWatched()
	}
	return n
}

// internalToken is the token of internal callers of nodes under test. Tests ask as such,
// unless they are about access.
const internalToken = apinode.InternalToken

// samplePrices are the prices of the default settings.
func samplePrices() routes.Prices {
	prices := routes.Prices{Token: "USDC", Network: "eip155:8453", Paid: map[string]governance.Decimal{}}
	for _, route := range routes.All() {
		if route.Paid() {
			prices.Paid[route.ID] = map[governance.Tier]governance.Decimal{governance.Standard: "0.001", governance.Plus: "0.005"}[route.Tier]
		}
	}
	return prices
}

// waitWatched waits until the node knows the state of publication.
func (t *node) waitWatched() {
	t.Helper()
	env.Until(t, func() error {
		if !t.API.Watched() {
			return errors.New("the node does not know the state of publication")
		}
		return nil
	})
}

// answer is a response, read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// get asks for a path.
func (t *node) get(path string) answer {
	t.Helper()
	return t.ask(http.MethodGet, path, nil)
}

// ask sends a request without a body, as an internal caller.
func (t *node) ask(method, path string, header http.Header) answer {
	t.Helper()
	header = header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set(access.HeaderInternal, internalToken)
	return t.askAs(method, path, header)
}

// askAs sends a request without a body, and with no credentials but those given.
func (t *node) askAs(method, path string, header http.Header) answer {
	t.Helper()
	got := t.Send(method, path, "", header)
	return answer{status: got.Status, header: got.Header, body: got.Body}
}

// success is the envelope of an answer with data.
type success struct {
	Data json.RawMessage `json:"data"`
	Meta struct {
		RequestID   string               `json:"requestId"`
		GeneratedAt governance.Timestamp `json:"generatedAt"`
		DataAsOf    governance.Timestamp `json:"dataAsOf"`
		Readiness   struct {
			Status governance.Readiness `json:"status"`
		} `json:"readiness"`
		Page *struct {
			Limit      int     `json:"limit"`
			HasMore    bool    `json:"hasMore"`
			NextCursor *string `json:"nextCursor"`
		} `json:"page"`
		Hint string `json:"hint"`
	} `json:"meta"`
}

// err is the envelope of an error.
type failure struct {
	Error struct {
		Code    apierror.Code   `json:"code"`
		Message string          `json:"message"`
		Details json.RawMessage `json:"details"`
	} `json:"error"`
	Meta struct {
		RequestID string `json:"requestId"`
	} `json:"meta"`
}

// wantSuccess reads an answer that must be one with data.
func (t *node) wantSuccess(path string) success {
	t.Helper()
	got := t.get(path)
	if got.status != http.StatusOK {
		t.Fatalf("GET %s: got %d %s, want 200", path, got.status, got.body)
	}
	var envelope success
	t.decode(got.body, &envelope)
	return envelope
}

// wantFailure reads an answer that must be a certain error, in its envelope.
func (t *node) wantFailure(got answer, status int, code apierror.Code) failure {
	t.Helper()
	if got.status != status {
		t.Fatalf("got %d %s, want %d", got.status, got.body, status)
	}
	env.Want(t, "application/json; charset=utf-8", got.header.Get("Content-Type"), "content type of an error", "JSON")
	if control := got.header.Get("Cache-Control"); control != "no-store" && status != http.StatusNotFound {
		t.Errorf("cache control of an error: got %q, want no-store", control)
	}
	var envelope failure
	t.decode(got.body, &envelope)
	if envelope.Error.Code != code || envelope.Error.Message == "" || len(envelope.Error.Details) < 2 || envelope.Error.Details[0] != '{' {
		t.Errorf("got %s, want an error %s with a message and details", got.body, code)
	}
	if id := got.header.Get("X-Request-Id"); id == "" || id != envelope.Meta.RequestID {
		t.Errorf("request id: got %q in the header, %q in the body, want one", id, envelope.Meta.RequestID)
	}
	return envelope
}

// decode reads JSON that has no other fields.
func (t *node) decode(text string, into any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewBufferString(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
}
