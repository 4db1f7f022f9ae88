package edge_test

import (
	"net/http"
	"testing"

	"pnyx/access"
)

// TestPagesForPeoplePassTheEdgeAndAreNeverStored checks it for pages that a node calls
// public: with a token the same address has another content.
func TestPagesForPeoplePassTheEdgeAndAreNeverStored(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=3600, s-maxage=3600")
		_, _ = w.Write([]byte(r.Header.Get(access.HeaderToken) + " " + r.Header.Get(access.HeaderInternal)))
	})
	e := startEdge(t, o.URL)
	paths := []string{"/explore", "/explore/daos/uniswap?metric=votes_cast", "/explore/proposals/p1_x", "/explore/voters/0x1"}
	for _, path := range paths {
		if got := e.get(path, access.HeaderToken, "the-token", access.HeaderInternal, internalToken); got.status != http.StatusOK || got.body != "the-token " {
			t.Errorf("%s with a token: got %d %q, want the answer of the node to the token alone", path, got.status, got.body)
		}
		if got := e.get(path); got.body != " " || got.header.Get("Cache-Status") != "pnyx-edge; fwd=bypass" {
			t.Errorf("%s without a token: got %v %q, want the answer of the node", path, got.header, got.body)
		}
	}
	e.wantMetrics(map[string]float64{"pnyx_edge_requests_total cache=none route=explore status=200": 8})
}
