package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"pnyx/api"
	"pnyx/test/env"
)

func TestVersionCommand(t *testing.T) {
	t.Parallel()
	out, status := env.Run(t, nil, "version", "--json")
	var shown struct {
		Version, Commit, Go, Surface string
	}
	if err := json.Unmarshal([]byte(out), &shown); err != nil || status != 0 {
		t.Fatalf("got status %d and %q: %v", status, out, err)
	}
	if shown.Version == "" || shown.Commit == "" || shown.Go == "" || shown.Surface != api.SurfaceVersion {
		t.Errorf("got %s, want every field, and surface %s", out, api.SurfaceVersion)
	}
	text, status := env.Run(t, nil, "version")
	if status != 0 || !strings.HasPrefix(text, "pnyx "+shown.Version+"\n") {
		t.Errorf("got status %d and %q, want the same in words", status, text)
	}
}

func TestNodeReportsItsVersion(t *testing.T) {
	t.Parallel()
	node := start(t, t.TempDir(), []string{"REDIS_URL=redis://" + env.FreeAddress(t)}, "api")
	node.AwaitProbe("/healthz", http.StatusOK, "ok")
	_, metrics, err := env.Fetch(node.AdminURL + "/metrics")
	if err != nil || !strings.Contains(string(metrics), `pnyx_build_info{commit="`) {
		t.Errorf("metrics lack pnyx_build_info: %v", err)
	}
	env.WantPart(t, `msg="starting api" version=`, node.Output.String(), "the log", "the version in it")
}
