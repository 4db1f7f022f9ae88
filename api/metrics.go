package api

import (
	"strconv"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/routes"
	"pnyx/governance"
	"pnyx/telemetry"
)

const (
	// RouteDocuments is the value of the label route for documents and the home page.
	RouteDocuments = "documents"
	// RouteNone is the value of the label route for paths that do not exist.
	RouteNone = "none"
)

// metrics are the metrics of a node. Labels have closed sets of values: nothing that a caller sends becomes one.
type metrics struct {
	requests *prometheus.CounterVec
	inFlight prometheus.Gauge
	answers  map[origin]prometheus.Counter
	misses   prometheus.Counter
	// joined counts requests that waited for the read of another.
	joined prometheus.Counter
	routes map[string]*routeMetrics // by path

	durations *prometheus.HistogramVec
	bytes     *prometheus.CounterVec

	documents, none *routeMetrics
}

type origin struct {
	layer     httpcache.Layer
	readiness governance.Readiness
}

// routeMetrics are the series of one route.
type routeMetrics struct {
	id       string
	duration prometheus.Observer
	bytes    prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	m := &metrics{
		requests: telemetry.Counters(registerer, "pnyx_http_requests_total",
			"Requests answered, by route, status and error code.", "route", "status", "code"),
		inFlight: telemetry.Gauge(registerer, "pnyx_http_requests_in_flight",
			"Requests in flight, without those that wait for changes."),
		misses: telemetry.Counter(registerer, "pnyx_cache_misses_total", "Views that were not in Redis."),
		joined: telemetry.Counter(registerer, "pnyx_cache_joined_reads_total",
			"Reads that waited for the same read by another request of this node."),
		answers: map[origin]prometheus.Counter{}, routes: map[string]*routeMetrics{},
	}
	answers := telemetry.Counters(registerer, "pnyx_cache_answers_total",
		"Answers with data, by layer (local, redis, fill, or none where it was not available) and readiness.", "layer", "readiness")
	for _, layer := range httpcache.Layers() {
		for _, readiness := range governance.Readinesses() {
			m.answers[origin{layer, readiness}] = answers.WithLabelValues(string(layer), string(readiness))
		}
	}
	m.addRoutes(registerer)
	return m
}

func (m *metrics) addRoutes(registerer prometheus.Registerer) {
	m.durations = telemetry.Histograms(registerer,
		telemetry.Latency("pnyx_http_request_duration_seconds", "Time to answer on this node, by route."), "route")
	m.bytes = telemetry.Counters(registerer, "pnyx_http_response_bytes_total", "Bytes of bodies as sent, by route.", "route")
	for _, route := range routes.All() {
		m.addRoute(route.Path, route.ID)
	}
	m.documents, m.none = m.seriesOf(RouteDocuments), m.seriesOf(RouteNone)
}

func (m *metrics) addRoute(path, id string) { m.routes[path] = m.seriesOf(id) }

func (m *metrics) seriesOf(id string) *routeMetrics {
	// Prometheus sees no increase of a series that begins with its first request, or its first bug.
	m.requests.WithLabelValues(id, "200", "")
	m.requests.WithLabelValues(id, "304", "")
	m.requests.WithLabelValues(id, "500", string(apierror.CodeInternal))
	return &routeMetrics{id: id, duration: m.durations.WithLabelValues(id), bytes: m.bytes.WithLabelValues(id)}
}

func (m *metrics) of(c *fiber.Ctx) *routeMetrics {
	if s := stateOf(c); s.metrics != nil {
		return s.metrics
	}
	path := c.Route().Path
	if route, known := m.routes[path]; known {
		return route
	}
	// Without a route, Fiber reports the path of the middlewares.
	if path == PathHome && c.Response().StatusCode() >= fiber.StatusBadRequest {
		return m.none
	}
	return m.documents
}

func (m *metrics) count(route *routeMetrics, r *accessRecord) {
	m.requests.WithLabelValues(route.id, strconv.Itoa(r.status), string(r.code())).Inc()
	route.duration.Observe(r.duration.Seconds())
	route.bytes.Add(float64(r.bytes))
	if counter, known := m.answers[origin{r.source(), r.dataReadiness()}]; known {
		counter.Inc()
	}
}
