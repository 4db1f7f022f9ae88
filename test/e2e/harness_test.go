package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"

	"pnyx/governance"
	"pnyx/test/env"
)

func TestMain(m *testing.M) { env.Main(m) }

// instance is a running pnyx with the helpers of these tests.
type instance struct {
	*env.Pnyx
}

// start runs pnyx with a role on free ports, without waiting until it is ready; see env.StartPnyx.
func start(tb testing.TB, dataDir string, environ []string, args ...string) *instance {
	tb.Helper()
	return &instance{env.StartPnyx(tb, dataDir, environ, args...)}
}

// startShared runs pnyx with a role on a database in the shared engine. dataDir names no warehouse then.
func startShared(tb testing.TB, environ []string, args ...string) *instance {
	tb.Helper()
	env.RequireEngine(tb)
	return start(tb, tb.TempDir(), append([]string{"CLICKHOUSE_URL=" + env.DatabaseURL(tb)}, environ...), args...)
}

// startEdge runs an edge before a node, and returns it with its address.
func startEdge(t *testing.T, node *instance) (edge *instance, base string) {
	t.Helper()
	env.Nginx(t)
	listen, admin := env.FreeAddress(t), env.FreeAddress(t)
	edge = start(t, t.TempDir(), []string{
		"PNYX_EDGE_LISTEN=" + listen, "PNYX_EDGE_ADMIN_LISTEN=" + admin, "PNYX_EDGE_ORIGIN=" + node.URL,
		"PNYX_EDGE_DIR=" + filepath.Join(t.TempDir(), "edge"),
	}, "edge")
	edge.AdminURL = "http://" + admin
	return edge, "http://" + listen
}

// ready waits until everything has been published once.
func (i *instance) ready() *instance {
	i.TB.Helper()
	i.AwaitReady()
	return i
}

// answerOrRefusal reports whether a path is answered. Any other refusal than 503 with a Retry-After is an error.
func (i *instance) answerOrRefusal(path string) (answered bool, err error) {
	var data json.RawMessage
	r, err := i.Ask(path, &data)
	if err != nil || r.Status == http.StatusOK {
		return err == nil, err
	}
	after, _ := strconv.Atoi(r.Header.Get("Retry-After"))
	if r.Status != http.StatusServiceUnavailable || r.Error.Code != "UNAVAILABLE" || after < 1 {
		return false, fmt.Errorf("GET %s: got %d %s, Retry-After %q, want an answer or 503 UNAVAILABLE with Retry-After",
			path, r.Status, r.Error.Code, r.Header.Get("Retry-After"))
	}
	return false, nil
}

// compareAnswer reports whether a path is answered, and how that differs from want; "" for a 503, too.
func (i *instance) compareAnswer(path string, want json.RawMessage) (answered bool, difference string) {
	var data json.RawMessage
	r, err := i.Ask(path, &data)
	switch {
	case err != nil:
		return false, err.Error()
	case r.Status == http.StatusServiceUnavailable:
		return false, ""
	case r.Status != http.StatusOK:
		return false, fmt.Sprint(r.Status, " ", r.Error.Code)
	case !bytes.Equal(data, want):
		return false, env.DiffJSON(want, data)
	}
	return true, ""
}

// proposalKey is the key of a proposal of Snapshot.
func proposalKey(daoID, proposalID string) string {
	return string((governance.Identity{DAOID: daoID, Provider: governance.Snapshot, ExternalID: proposalID}).ProposalKey())
}
