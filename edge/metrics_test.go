package edge_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"pnyx/api/routes"
	"pnyx/test/env"
)

// metrics returns the samples of the edge's metrics, by name and labels. Of a histogram it
// has the count, and the sum.
func (e *nginx) metrics() (map[string]float64, error) {
	status, body, err := env.Fetch(e.admin + "/metrics")
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("metrics of the edge: %d %w", status, err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(body)))
	if err != nil {
		return nil, fmt.Errorf("metrics of the edge: %w\n%s", err, body)
	}
	samples := map[string]float64{}
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			slices.Sort(labels)
			key := strings.Join(append([]string{name}, labels...), " ")
			if histogram := metric.GetHistogram(); histogram != nil {
				samples[key+" count"], samples[key+" sum"] = float64(histogram.GetSampleCount()), histogram.GetSampleSum()
			} else {
				samples[key] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return samples, nil
}

// wantMetrics waits until samples have some values: a request is counted after its answer.
func (e *nginx) wantMetrics(want map[string]float64) {
	e.Helper()
	env.Until(e, func() error {
		got, err := e.metrics()
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if err == nil && got[name] != want[name] {
				err = fmt.Errorf("%s: got %v, want %v, of %v", name, got[name], want[name], got)
			}
		}
		return err
	})
}

func TestRequestsAreCountedByRouteStatusAndCache(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, s-maxage=3600")
		if r.URL.Path == "/v2/nothing" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, "{}")
	})
	e := startEdge(t, o.URL)
	e.wantMetrics(map[string]float64{
		"pnyx_edge_request_duration_seconds count": 0, "pnyx_edge_origin_errors_total reason=unreachable": 0,
		"pnyx_edge_origin_errors_total reason=timeout": 0, "pnyx_edge_origin_errors_total reason=status": 0,
		"pnyx_edge_connections_dropped_total": 0,
	})
	for _, path := range []string{"/v2/daos", "/v2/daos", "/v2/daos/a", "/v2/daos/a", "/v2/daos/a", "/v2/daos/b", "/llms.txt", "/v2/nothing", "/", "/v2/proposals/p1_x"} {
		e.get(path)
	}
	e.wantMetrics(map[string]float64{
		"pnyx_edge_requests_total cache=miss route=daos.list status=200":        1,
		"pnyx_edge_requests_total cache=hit route=daos.list status=200":         1,
		"pnyx_edge_requests_total cache=miss route=daos.detail status=200":      2,
		"pnyx_edge_requests_total cache=hit route=daos.detail status=200":       2,
		"pnyx_edge_requests_total cache=miss route=documents status=200":        1,
		"pnyx_edge_requests_total cache=none route=documents status=200":        1,
		"pnyx_edge_requests_total cache=none route=none status=404":             1,
		"pnyx_edge_requests_total cache=none route=proposals.detail status=200": 1,
		"pnyx_edge_request_duration_seconds count":                              10,
		"pnyx_edge_origin_duration_seconds count":                               7,
		"pnyx_edge_origin_errors_total reason=status":                           0,
		"pnyx_edge_origin_errors_total reason=unreachable":                      0,
	})
	samples := env.Must(e.metrics())(t)
	if _, is := samples["pnyx_edge_connections state=connections"]; is {
		t.Error("the sum of all connections is shown as a state")
	}
	if samples["pnyx_edge_connections state=writing"] < 1 || samples["pnyx_edge_connections_accepted_total"] < 2 {
		t.Errorf("connections: got %v, want this one and the callers'", samples)
	}
}

func TestFailuresOfTheOriginAndStaleAnswersAreCounted(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "public, s-maxage=1, stale-if-error=3600")
		if fails.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, "{}")
	})
	e := startEdge(t, o.URL)
	e.get("/v2/daos/a")
	o.untilExpired(e)
	fails.Store(true)
	e.get("/v2/daos/a")
	const stale, unreachable = "pnyx_edge_requests_total cache=stale route=daos.detail status=200", "pnyx_edge_origin_errors_total reason=unreachable"
	e.wantMetrics(map[string]float64{stale: 1, "pnyx_edge_origin_errors_total reason=status": 1, unreachable: 0})
	o.CloseClientConnections()
	o.Close()
	e.get("/v2/daos/c")
	e.wantMetrics(map[string]float64{"pnyx_edge_requests_total cache=miss route=daos.detail status=503": 1})
	env.Until(e, func() error {
		if got, err := e.metrics(); err != nil || got[unreachable] == 0 {
			return errors.Join(err, fmt.Errorf("no node answers: got %v", got))
		}
		return nil
	})
}

// TestRenewalInTheBackgroundIsNotStale: nginx calls the answer stale whose request begins a
// renewal, although no node has failed.
func TestRenewalInTheBackgroundIsNotStale(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "public, s-maxage=1, stale-while-revalidate=3600")
		fmt.Fprint(w, "{}")
	})
	e := startEdge(t, o.URL)
	e.get("/v2/daos")
	env.Until(e, func() error { // the next one is out of date
		status := e.get("/v2/daos").header.Get("Cache-Status")
		if status == "pnyx-edge; hit" {
			return errors.New("the response is not out of date")
		}
		env.Want(t, "pnyx-edge; hit; detail=renewing", status, "Cache-Status while it is renewed")
		return nil
	})
	e.wantMetrics(map[string]float64{
		"pnyx_edge_requests_total cache=updating route=daos.list status=200": 1,
		"pnyx_edge_requests_total cache=stale route=daos.list status=200":    0,
	})
}

func TestAttackCallersAddNoSeries(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	e := startEdge(t, o.URL)
	for i := range 200 {
		e.get(fmt.Sprintf("/v2/%d", i))
		e.get(fmt.Sprintf("/v2/daos/%d/x?route=%d", i, i))
		e.get(fmt.Sprintf(`/v2/daos/%d"}%%20%d`, i, i))
	}
	e.wantMetrics(map[string]float64{"pnyx_edge_request_duration_seconds count": 600})
	samples := env.Must(e.metrics())(t)
	known := map[string]bool{"none": true, "documents": true}
	for _, route := range routes.All() {
		known[route.ID] = true
	}
	series := 0
	for name := range samples {
		if _, labels, is := strings.Cut(name, "pnyx_edge_requests_total "); is {
			series++
			_, rest, _ := strings.Cut(labels, "route=")
			if route, _, _ := strings.Cut(rest, " "); !known[route] {
				t.Errorf("got a series %s of a route that is not in the table", name)
			}
		}
	}
	if series > 3 {
		t.Errorf("got %d series, want one a route", series)
	}
}

func TestPaidHitsAreCountedAsHits(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.issue(1000, "v2:paid:*")
	n.read(p, pathOf(0))
	n.read(p, pathOf(0))
	n.wantMetrics(map[string]float64{
		"pnyx_edge_requests_total cache=miss route=proposals.detail status=200": 1,
		"pnyx_edge_requests_total cache=hit route=proposals.detail status=200":  1,
	})
}
