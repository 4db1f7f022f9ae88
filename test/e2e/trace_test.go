package e2e_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"pnyx/access"
	"pnyx/test/env"
)

// collector receives traces, as OTLP over HTTP.
type collector struct {
	*httptest.Server

	mu      sync.Mutex
	spans   []*tracepb.Span
	headers []http.Header
}

func newCollector(tb testing.TB) *collector {
	tb.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	tb.Cleanup(c.Close)
	return c
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	unpacked, err := gzip.NewReader(r.Body)
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, fmt.Sprint(r.URL, err), http.StatusBadRequest)
		return
	}
	text, err := io.ReadAll(unpacked)
	var export collectorpb.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(text, &export)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header)
	for _, resource := range export.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
}

// trace returns the spans of a trace, by their ids.
func (c *collector) trace(id string) map[string]*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans := map[string]*tracepb.Span{}
	for _, span := range c.spans {
		if fmt.Sprintf("%x", span.GetTraceId()) == id {
			spans[fmt.Sprintf("%x", span.GetSpanId())] = span
		}
	}
	return spans
}

// The trace and the span of the caller.
const (
	callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersSpan  = "00f067aa0ba902b7"
)

func TestColdRequestIsOneTrace(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	c := newCollector(t)
	i := startShared(t, []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=key%20of%20the%20collector",
		"OTEL_TRACES_SAMPLER_ARG=0",
	}, "serve").ready()
	path := "/v2/proposals?provider=snapshot&outcome=passed&limit=7"
	i.visitTraced(path+"&sort=endingSoon", "") // callers without a token cannot force a trace to be recorded
	i.visitTraced(path, env.InternalToken)
	var spans map[string]*tracepb.Span
	env.Until(t, func() error {
		spans = c.trace(callersTrace)
		for _, wanted := range []string{"GET proposals.list", "wait for fill proposals", "fill proposals", "clickhouse select", "redis pipeline"} {
			if !slices.ContainsFunc(namesOf(spans), func(name string) bool { return name == wanted }) {
				return fmt.Errorf("no span %q among %v", wanted, namesOf(spans))
			}
		}
		return nil
	})
	for _, chain := range [][]string{
		{"clickhouse select", "fill proposals", "wait for fill proposals", "GET proposals.list", callersSpan},
		{"redis pipeline", "GET proposals.list", callersSpan},
	} {
		if !slices.ContainsFunc(chains(spans), func(got string) bool { return got == strings.Join(chain, " < ") }) {
			t.Errorf("got the chains %s, want %v among them", strings.Join(chains(spans), "\n"), chain)
		}
	}
	for id, span := range spans {
		if text := span.String(); strings.Contains(text, env.InternalToken) {
			t.Errorf("span %s contains a secret: %s", id, text)
		}
	}
	i.Stop()
	env.Want(t, 0, i.ExitCode(), "SIGTERM", "exit status")
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := c.headers[0].Get("Api-Key"); key != "key of the collector" {
		t.Errorf("header of the export: got %q", key)
	}
	for _, span := range c.spans {
		if fmt.Sprintf("%x", span.GetTraceId()) != callersTrace {
			t.Errorf("got the span %s of a trace that was not sampled, want none", span.GetName())
		}
	}
}

func (i *instance) visitTraced(path, internal string) {
	i.TB.Helper()
	request := env.Must(http.NewRequestWithContext(i.TB.Context(), http.MethodGet, i.URL+path, http.NoBody))(i.TB)
	request.Header.Set("Traceparent", "00-"+callersTrace+"-"+callersSpan+"-01")
	if internal != "" {
		request.Header.Set(access.HeaderInternal, internal)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		i.TB.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); internal != "" && response.StatusCode != http.StatusOK {
		i.TB.Fatalf("GET %s: %d %s", path, response.StatusCode, body)
	}
}

func namesOf(spans map[string]*tracepb.Span) []string {
	var names []string
	for _, span := range spans {
		names = append(names, span.GetName())
	}
	return names
}

// chains are the spans, each with its ancestors up to the span of the caller.
func chains(spans map[string]*tracepb.Span) []string {
	var all []string
	for _, span := range spans {
		chain := span.GetName()
		for span != nil {
			parent := fmt.Sprintf("%x", span.GetParentSpanId())
			span = spans[parent]
			if span == nil {
				chain += " < " + parent
				break
			}
			chain += " < " + span.GetName()
		}
		all = append(all, chain)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestUnreachableCollectorDelaysNothing(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	i := startShared(t, []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://user:hidden@" + env.FreeAddress(t), "OTEL_TRACES_SAMPLER_ARG=1",
	}, "serve").ready()
	var daos []any
	i.Get("/v2/daos", &daos)
	i.Stop()
	if code := i.ExitCode(); code != 0 || strings.Contains(i.Output.String(), "hidden") {
		t.Errorf("got exit status %d and %s, want 0 and no password", code, i.Output)
	}
}
