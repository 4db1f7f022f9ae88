package x402

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pnyx/test/check"
)

// spaces are endless white space, counted as it is sent.
type spaces struct{ sent *atomic.Int64 }

func (s spaces) Read(b []byte) (int, error) {
	s.sent.Add(int64(len(b)))
	return copy(b, strings.Repeat(" ", len(b))), nil
}

// What a facilitator or an RPC endpoint answers is bounded where it is decoded.
func TestAttackAnswersOfUpstreamsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 64 << 20
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.Copy(w, io.LimitReader(spaces{&sent}, most)) // until the caller has enough
	}))
	t.Cleanup(server.Close)
	f := &facilitator{base: check.Must(url.Parse(server.URL))(t), client: server.Client(), Options: Options{VerifyTimeout: time.Minute}}
	c := &chain{url: server.URL, client: server.Client()}
	for name, call := range map[string]func() error{
		"supported": func() error { return f.supports(t.Context(), "eip155:1") },
		"RPC":       func() error { return c.call(t.Context(), "eth_getLogs", nil, new(string)) },
	} {
		sent.Store(0)
		if err := call(); err == nil || sent.Load() >= most {
			t.Errorf("%s: got %v after %d bytes were sent, want an error long before", name, err, sent.Load())
		}
	}
}

func TestAttackARedirectOfAnRPCEndpointIsNotFollowed(t *testing.T) {
	t.Parallel()
	var asked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Store(true) }))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	if err := newChain(server.URL).call(t.Context(), "eth_blockNumber", []any{}, new(string)); err == nil || asked.Load() {
		t.Errorf("got %v, and another host was asked: %t; want an error alone", err, asked.Load())
	}
}
