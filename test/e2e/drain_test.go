package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pnyx/test/env"
)

// drains stops a node that drains for an hour: it says so, and keeps answering.
func (i *instance) drains(t *testing.T) {
	t.Helper()
	i.AwaitProbe("/startedz", http.StatusOK, "ok")
	if i.closesBehind(t, "/v2/daos") {
		t.Error("the node closes a connection after a response, want it kept open before SIGTERM")
	}
	i.Signal(syscall.SIGTERM)
	i.AwaitProbe("/readyz", http.StatusServiceUnavailable, "draining")
	i.AwaitProbe("/healthz", http.StatusOK, "ok")
	if !i.closesBehind(t, "/v2/daos") {
		t.Error("the node keeps a connection open after SIGTERM, want it closed after the response")
	}
	i.Kill()
}

// closesBehind fetches a path over a keep-alive connection, and reports whether the node closes it.
func (i *instance) closesBehind(t *testing.T, path string) bool {
	t.Helper()
	request := env.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, i.URL+path, http.NoBody))(t)
	answer, err := env.Client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s %v", path, answer.Status, err)
	}
	return answer.Close
}

func TestNoRequestFailsWhileCallersFollowReadiness(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	node := startShared(t, []string{"PNYX_DRAIN_DELAY=10s"}, "serve").ready()
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for asked := 0; ; asked++ {
				status, _, err := env.Fetch(node.AdminURL + "/readyz")
				if err != nil || status != http.StatusOK {
					return
				}
				if status, body, err := env.Fetch(node.URL + "/v2/daos"); err != nil || status != http.StatusOK {
					t.Errorf("request %d: got %d %s %v, want 200", asked, status, body, err)
					return
				}
				if asked == 0 {
					node.Signal(syscall.SIGTERM) // another caller may have been first
				}
			}
		})
	}
	callers.Wait()
	node.Stop()
	env.Want(t, 0, node.ExitCode(), "exit status")
}

// publishers returns the environment of workers whose lease never expires in a test.
func publishers(t *testing.T) []string {
	t.Helper()
	env.RequireEngine(t)
	warehouse := "CLICKHOUSE_URL=" + env.DatabaseURL(t)
	env.MustRun(t, []string{warehouse}, "migrate")
	return []string{
		"REDIS_URL=" + env.Redis(t).URL, warehouse,
		"PNYX_LEASE_TTL=1h", "PNYX_STALE_AFTER=2h",
	}
}

// leads waits until a worker is leader.
func (i *instance) leads() {
	i.TB.Helper()
	env.Until(i.TB, func() error {
		if i.Metric("pnyx_worker_leading") != 1 {
			return fmt.Errorf("the worker is not leader yet")
		}
		return nil
	})
}

func TestStoppedLeaderReleasesItsLease(t *testing.T) {
	t.Parallel()
	environ := publishers(t)
	leader := start(t, t.TempDir(), environ, "worker")
	leader.leads()
	next := start(t, t.TempDir(), environ, "worker")
	next.AwaitProbe("/readyz", http.StatusOK, "ok")
	leader.Stop()
	next.leads()
}

func TestFillsOnlyWorkerFillsPagesAndPublishesNothing(t *testing.T) {
	t.Parallel()
	environ := publishers(t)
	filler := start(t, t.TempDir(), environ, "worker", "--fills-only")
	filler.AwaitProbe("/readyz", http.StatusOK, "ok")
	node := start(t, t.TempDir(), environ[:1], "api")
	node.AwaitProbe("/readyz", http.StatusServiceUnavailable, "nothing is published yet")
	leader := start(t, t.TempDir(), environ, "worker")
	node.ready()
	leader.Stop()
	env.Until(t, func() error {
		status, body, err := env.Fetch(node.URL + "/v2/proposals?provider=tally&sort=createdDesc")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("a page on demand: got %d %s %w, want 200", status, body, err)
		}
		return nil
	})
	if _, metrics, err := env.Fetch(filler.AdminURL + "/metrics"); err != nil || strings.Contains(string(metrics), "pnyx_worker_leading") {
		t.Errorf("a worker with fills alone takes the lease: %v", err)
	}
}
