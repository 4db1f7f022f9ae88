package api

import (
	"strconv"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/telemetry"
)

// layer is where the data of an answer came from.
type layer string

// The layers, from the nearest on.
const (
	layerLocal layer = "local" // the node's own copy
	layerRedis layer = "redis"
	layerFill  layer = "fill" // made because somebody asked
	layerNone  layer = "none" // it could not be had
)

func layers() []layer { return []layer{layerLocal, layerRedis, layerFill, layerNone} }

// The names, among those of routes, of what is to be read about them, and of
// everything else.
const (
	routeDocuments = "documents"
	routeNone      = "none"
)

// metrics is what an operator sees of an API node. Every label is from a closed set:
// routes go by their id, and nothing that a caller sends names a series.
type metrics struct {
	requests *prometheus.CounterVec
	inFlight prometheus.Gauge
	answers  map[origin]prometheus.Counter
	misses   prometheus.Counter
	routes   map[string]*routeMetrics // by path

	documents, none *routeMetrics
}

// origin is where an answer came from, and how far it may be relied on.
type origin struct {
	layer     layer
	readiness governance.Readiness
}

// routeMetrics are the series of one route. Those of every request are looked up
// once, at the start.
type routeMetrics struct {
	id              string
	ok, notModified prometheus.Counter
	duration        prometheus.Observer
	bytes           prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	m := &metrics{
		requests: telemetry.Register(registerer, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pnyx_http_requests_total",
			Help: "Requests answered, by route, status and, where it is an error, code.",
		}, []string{"route", "status", "code"})),
		inFlight: telemetry.Register(registerer, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pnyx_http_requests_in_flight", Help: "Requests that are being answered.",
		})),
		misses: telemetry.Register(registerer, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_cache_misses_total", Help: "Views that were not in Redis.",
		})),
		answers: map[origin]prometheus.Counter{}, routes: map[string]*routeMetrics{},
	}
	answers := telemetry.Register(registerer, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pnyx_cache_answers_total",
		Help: "Answers with data, by where it came from (local, redis, fill, or none: it could not be had) and its readiness.",
	}, []string{"layer", "readiness"}))
	for _, layer := range layers() {
		for _, readiness := range governance.Readinesses() {
			m.answers[origin{layer, readiness}] = answers.WithLabelValues(string(layer), string(readiness))
		}
	}
	m.addRoutes(registerer)
	return m
}

func (m *metrics) addRoutes(registerer prometheus.Registerer) {
	duration := telemetry.Register(registerer, prometheus.NewHistogramVec(
		telemetry.Latency("pnyx_http_request_duration_seconds", "How long answers take on this node, by route."), []string{"route"}))
	bytes := telemetry.Register(registerer, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pnyx_http_response_bytes_total", Help: "Bytes of bodies as sent, by route.",
	}, []string{"route"}))
	add := func(id string) *routeMetrics {
		return &routeMetrics{
			id: id,
			ok: m.requests.WithLabelValues(id, "200", ""), notModified: m.requests.WithLabelValues(id, "304", ""),
			duration: duration.WithLabelValues(id), bytes: bytes.WithLabelValues(id),
		}
	}
	for _, route := range Routes() {
		m.routes[route.Path] = add(route.ID)
	}
	m.documents, m.none = add(routeDocuments), add(routeNone)
}

// of returns the series of the route that a request has found.
func (m *metrics) of(c *fiber.Ctx) *routeMetrics {
	path := c.Route().Path
	if route, known := m.routes[path]; known {
		return route
	}
	// What fits no route ends where those handlers stand that all requests pass.
	if path == PathHome && c.Response().StatusCode() >= fiber.StatusBadRequest {
		return m.none
	}
	return m.documents
}

// count counts an answer.
func (m *metrics) count(r *routeMetrics, v *accessRecord) {
	switch v.status {
	case fiber.StatusOK:
		r.ok.Inc()
	case fiber.StatusNotModified:
		r.notModified.Inc()
	default:
		m.requests.WithLabelValues(r.id, strconv.Itoa(v.status), string(v.code())).Inc()
	}
	r.duration.Observe(v.duration.Seconds())
	r.bytes.Add(float64(v.bytes))
	if counted, known := m.answers[origin{v.layer(), v.readiness()}]; known {
		counted.Inc()
	}
}

// measure tells an operator what the node knows of publication.
func (w *publicationWatcher) measure(registerer prometheus.Registerer) {
	gauge := func(name, help string, seconds func(*cache.PublicationState) float64) {
		telemetry.Register(registerer, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			if latest := w.latest.Load(); latest != nil {
				return seconds(latest)
			}
			return 0
		}))
	}
	gauge("pnyx_served_through_timestamp_seconds",
		"Everything sealed until then is published, as far as this node knows; 0 before the first publication.",
		func(p *cache.PublicationState) float64 { return float64(p.CommittedThrough) / 1e6 })
	gauge("pnyx_served_heartbeat_timestamp_seconds",
		"When a worker last gave a sign of life to this node; 0 for never.",
		func(p *cache.PublicationState) float64 { return float64(p.HeartbeatAt.Time().UnixMilli()) / 1000 })
}
