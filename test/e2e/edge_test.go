package e2e_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pnyx/test/env"
)

func TestEdgeServesWhatIsImported(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	dir := t.TempDir()
	origin := startShared(t, nil, "serve").ready()
	before, base := startEdge(t, origin)
	want := func(path string, status int) {
		t.Helper()
		env.Until(t, func() error {
			got, body, err := env.Fetch(base + path)
			if err == nil && got != status {
				err = fmt.Errorf("GET %s at the edge: got %d %s, want %d", path, got, body, status)
			}
			return err
		})
	}
	want("/v2/daos", http.StatusOK)
	want("/v2/daos/a.eth", http.StatusNotFound)
	// The edge does not accept the internal token of a node.
	want("/v2/proposals", http.StatusPaymentRequired)
	env.WriteLines(t, filepath.Join(dir, "in", "spaces.ndjson"), `{"id":"a.eth","name":"A","network":"1","symbol":"A"}`)
	env.MustRun(t, origin.Environ, "import", filepath.Join(dir, "in"))
	want("/v2/daos/a.eth", http.StatusOK)
	before.Stop()
	if code := before.ExitCode(); code != 0 || strings.Contains(before.Output.String(), env.InternalToken) {
		t.Errorf("SIGTERM: got exit status %d, want 0 and no secrets in %s", code, before.Output)
	}
	origin.Stop()
}
