package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"pnyx/api"
	"pnyx/test/env"
)

// logged are the lines about requests of a route.
func (t *node) logged(route string) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for text := range strings.Lines(t.Logged.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if line["msg"] == "request" && line["route"] == route {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestLogSamplesSuccessesAndKeepsErrors(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{log: api.LogOptions{SampleRate: 5}})
	for range 20 {
		n.wantSuccess("/v2/daos")
	}
	for range 3 {
		n.get("/v2/daos/nobody")
	}
	healthy := n.logged("daos.list")
	env.Want(t, 4, len(healthy), "lines of 20 requests", "every fifth")
	for _, line := range healthy {
		if line["sample"] != 5.0 || line["status"] != 200.0 || line["layer"] == nil || line["level"] != "INFO" {
			t.Errorf("got %v, want a line that stands for 5 answers", line)
		}
	}
	errs := n.logged("daos.detail")
	env.Want(t, 3, len(errs), "lines of 3 errors")
	for _, line := range errs {
		if line["code"] != "NOT_FOUND" || line["sample"] != nil || line["path"] != "/v2/daos/nobody" {
			t.Errorf("got %v, want the code and the path", line)
		}
	}
	counted := n.counts("pnyx_log_requests_total")
	if counted["line=sampled"] != 16 || counted["line=dropped"] != 0 {
		t.Errorf("got %v, want 16 healthy requests without a line", counted)
	}
}

func TestSlowRequestIsLogged(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{log: api.LogOptions{SlowThreshold: time.Nanosecond}})
	n.wantSuccess("/v2/daos")
	env.Want(t, 1, len(n.logged("daos.list")), "one line")
}

func TestLogLinesPerSecondAreBounded(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for range 2000 {
		n.get("/v2/daos?limit=0")
	}
	counted := n.counts("pnyx_log_requests_total")
	lines := float64(len(n.logged("daos.list")))
	if lines < 500 || counted["line=dropped"]+lines < 2000 {
		t.Errorf("got %g lines and %v, want the first 500 and all the others counted", lines, counted)
	}
}

func TestLogOfAFailureHasItsCauseAndNoToken(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{unpublished: true})
	const token = "pnyx_abcdefgh_0123456789012345678901234567890123456789"
	n.ask(http.MethodGet, "/v2/daos/"+token+"?q="+token, http.Header{"X-Request-Id": {token}})
	n.ask(http.MethodGet, "/v2/daos/"+token, http.Header{"X-Request-Id": {token}})
	n.ask(http.MethodGet, "/v2/daos/"+strings.Replace(token, "p", "%70", 1), nil)
	lines := n.logged("daos.detail")
	if len(lines) != 3 {
		t.Fatalf("got %v, want three lines", lines)
	}
	for _, line := range lines {
		env.Want(t, "/v2/daos/pnyx_***", line["path"], "the path without the query")
	}
	failed := lines[1]
	if failed["level"] != "WARN" || failed["error"] == nil || failed["plan"] != "internal" || failed["path"] != "/v2/daos/pnyx_***" {
		t.Errorf("got %v, want a warning with cause and path", failed)
	}
	if strings.Contains(n.Logged.String(), token[len("pnyx_"):]) {
		t.Errorf("the log has the token: %s", n.Logged)
	}
}

func TestLoggedPathHasNoInternalToken(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.get("/v2/daos/" + internalToken)
	n.get("/v2/daos/%" + fmt.Sprintf("%x", internalToken[0]) + internalToken[1:] + "/timeline")
	if log := n.Logged.String(); strings.Contains(log, internalToken[1:]) || strings.Count(log, "/v2/daos/***") != 2 {
		t.Errorf("got %s, want two lines with *** for the token", log)
	}
}

func TestLoggedPathIsShortAndPrintable(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.get("/v2/daos/%1b%5b31m" + strings.Repeat("%C2%9B", 100))
	lines := n.logged("daos.detail")
	if len(lines) != 1 {
		t.Fatalf("got %v, want one line", lines)
	}
	path, _ := lines[0]["path"].(string)
	if !strings.HasPrefix(path, "/v2/daos/%1b%5b31m%C2") || len(path) > 200 || strings.ContainsFunc(path, unicode.IsControl) {
		t.Errorf("got %q, want the first 200 bytes, escaped", path)
	}
}

func TestAnswersAreCountedByLayer(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.API.ForgetCopies()
	n.wantSuccess("/v2/daos/uniswap")
	n.wantSuccess("/v2/daos/uniswap")
	n.get("/v2/daos/nobody")
	got := n.counts("pnyx_cache_answers_total")
	if got["layer=redis readiness=ready"] < 1 || got["layer=redis readiness=ready"]+got["layer=local readiness=ready"] != 2 {
		t.Errorf("got %v, want two answers, the first from Redis", got)
	}
	env.Want(t, 0, n.counts("pnyx_http_requests_in_flight")[""], "requests in flight")
}
