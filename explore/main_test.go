package explore_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"pnyx/access"
	"pnyx/explore"
	"pnyx/page"
	"pnyx/ratelimit"
	"pnyx/test/apinode"
)

func TestMain(m *testing.M) { apinode.Main(m) }

// node is a test of a node that serves the pages.
type node struct{ *apinode.Node }

// with returns the node for a subtest, whose failures are its own.
func (t *node) with(test *testing.T) *node { //nolint:thelper // the receiver is t
	test.Helper()
	return &node{t.With(test)}
}

// newNode starts a node whose free routes answer an address any number of times.
func newNode(t *testing.T) *node {
	t.Helper()
	return startNode(t, apinode.Settings{})
}

// startNode starts a node with the sample of the pages.
func startNode(t *testing.T, s apinode.Settings) *node {
	t.Helper()
	prices := apinode.Prices()
	prices.PayPerRequest = s.Payments != nil
	if s.Sample.Kinds == nil {
		s.Sample.Kinds = sampleKinds()
	}
	s.Sample.Views, s.Sample.DAOs, s.Sample.Page = sampleViews(), sampleDAOs, samplePage
	s.Documents = slices.Concat(page.Documents(), explore.Documents())
	s.Mount = func(n *apinode.Node) error { return explore.Mount(explore.Options{Node: n.API, Prices: prices}) }
	return &node{apinode.Start(t, s)}
}

// send sends a request; headers alternate names and values.
func (t *node) send(method, path string, headers ...string) apinode.Response {
	t.Helper()
	header := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	return t.Send(method, path, "", header)
}

// asInternal is the header of callers that are neither limited nor asked for payment.
func asInternal() []string { return []string{access.HeaderInternal, apinode.InternalToken} }

// page gets a page, which must be there.
func (t *node) page(path string, headers ...string) string {
	t.Helper()
	got := t.send(http.MethodGet, path, headers...)
	if got.Status != http.StatusOK || got.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("GET %s: got %d %s %s, want a page", path, got.Status, got.Header.Get("Content-Type"), got.Body)
	}
	return got.Body
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
	if err := json.Unmarshal([]byte(got.Body), &usage); err != nil {
		t.Fatalf("decode %s: %v", got.Body, err)
	}
	return usage.Data.Month.Used
}
