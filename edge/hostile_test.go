package edge_test

import (
	"net/http"
	"strings"
	"testing"

	"pnyx/mcp"
	"pnyx/test/env"
)

// The edge does not decode bodies, and nodes refuse encoded ones.
func TestAttackEncodedBodiesAreRefusedThroughTheEdge(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for _, asked := range []struct{ method, path string }{
		{http.MethodPost, mcp.Path}, {http.MethodGet, "/v2/daos"}, {http.MethodGet, pathOf(0)}, {http.MethodGet, "/nothing"},
	} {
		for _, encoding := range []string{"br", "gzip, gzip", "identity"} {
			got, err := n.try(asked.method, asked.path, "Content-Encoding", encoding, "Content-Type", "application/json")
			if err != nil || got.status != http.StatusUnsupportedMediaType || !strings.Contains(got.body, `"VALIDATION_ERROR"`) {
				t.Errorf("%s %s, %s: got %d %s, %v, want 415", asked.method, asked.path, encoding, got.status, got.body, err)
			}
		}
	}
	if got, err := n.try(http.MethodGet, "/v2/daos"); err != nil || got.status != http.StatusOK {
		t.Errorf("without: got %d %s, %v, want 200", got.status, got.body, err)
	}
}

// A page in a browser of the machine reaches the admin listener by a name that its owner
// resolves to this machine.
func TestAttackTheAdminListenerOfTheEdgeAnswersNoForeignName(t *testing.T) {
	t.Parallel()
	e := startEdge(t, "http://127.0.0.1:1")
	env.WantHosts(t, e.client, e.admin, "PNYX_EDGE_ADMIN_LISTEN", map[string]int{
		"": http.StatusOK, "localhost": http.StatusOK, "LOCALHOST:8001": http.StatusOK, "10.1.2.3:8001": http.StatusOK, "[fd00::7]:8001": http.StatusOK,
		"edge:8001": http.StatusOK, "a.localhost": http.StatusOK,
		"evil.example": http.StatusMisdirectedRequest, "evil.example:8001": http.StatusMisdirectedRequest, "127.0.0.1.evil.example": http.StatusMisdirectedRequest,
		"localhost.evil.example": http.StatusMisdirectedRequest,
	}, "/healthz", "/status", "/metrics")
}
