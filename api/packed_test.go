package api_test

import (
	"net/http"
	"strings"
	"testing"

	"pnyx/api"
	"pnyx/governance"
)

// TestACompressedAnswerIsTheAnswer asks for an answer that is compressed once for all
// callers, with ids of every length: what unpacks is what others get, to the last byte.
func TestACompressedAnswerIsTheAnswer(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{prepare: (*api.API).KeepCopies})
	var many []governance.DAOListItem
	for i := range 60 {
		many = append(many, daos(strings.Repeat("d", i+1))...)
	}
	n.writeDAOs(3, many...)
	n.api.ForgetCopies()
	for _, path := range []string{"/v2/daos?limit=7", "/v2/daos?limit=60", "/v2/daos?limit=100"} { // with a cursor, in one write, in more
		t.Run(path, func(t *testing.T) {
			n.with(t).get(path) // from then on the node has a copy
			for _, id := range []string{"a", strings.Repeat("b", 26), strings.Repeat("c", 64)} {
				header := http.Header{api.HeaderRequestID: {id}}
				want := n.with(t).askAs(http.MethodGet, path, header)
				header.Set("Accept-Encoding", "gzip")
				got := n.with(t).askAs(http.MethodGet, path, header)
				if unpacked(t, got.header.Get("Content-Encoding"), got.body) != want.body || got.header.Get("Content-Encoding") != "gzip" {
					t.Errorf("id %s: got %q, want %s in gzip", id, got.body, want.body)
				}
			}
		})
	}
}
