package api

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/routes"
	"pnyx/governance"
	"pnyx/panics"
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

// routeMetrics are the series of one route, resolved once so that no request looks up labels.
type routeMetrics struct {
	id              string
	ok, notModified prometheus.Counter
	duration        prometheus.Observer
	bytes           prometheus.Counter
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
	// Exists before the first bug: Prometheus sees no increase of a series that begins with it.
	m.requests.WithLabelValues(id, "500", string(apierror.CodeInternal))
	return &routeMetrics{
		id: id,
		ok: m.requests.WithLabelValues(id, "200", ""), notModified: m.requests.WithLabelValues(id, "304", ""),
		duration: m.durations.WithLabelValues(id), bytes: m.bytes.WithLabelValues(id),
	}
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
	switch r.status {
	case fiber.StatusOK:
		route.ok.Inc()
	case fiber.StatusNotModified:
		route.notModified.Inc()
	default:
		m.requests.WithLabelValues(route.id, strconv.Itoa(r.status), string(r.code())).Inc()
	}
	route.duration.Observe(r.duration.Seconds())
	route.bytes.Add(float64(r.bytes))
	if counter, known := m.answers[origin{r.source(), r.dataReadiness()}]; known {
		counter.Inc()
	}
}

// observe runs a handler, answers its errors, finishes accounting, and counts, logs and traces the request.
func (a *API) observe(c *fiber.Ctx, handler fiber.Handler) error {
	began := time.Now()
	a.metrics.inFlight.Inc()
	defer a.metrics.inFlight.Dec()
	span := a.trace(c)
	defer span.End()
	if err := a.guard(c, handler); err != nil {
		// Answered here, so that the status is known when it is counted.
		if err := a.writeError(c, err); err != nil {
			return err
		}
	}
	a.admission.finishAccounting(c, stateOf(c))
	// What a request waits for because it asks to is no latency.
	a.report(c, a.metrics.of(c), span, began.Add(stateOf(c).waited))
	return nil
}

// guard runs a handler within limits, takes from the address's bucket if none was, and compresses. A panic is an error.
func (a *API) guard(c *fiber.Ctx, handler fiber.Handler) (err error) {
	defer panics.Caught(&err)
	if err := limitRequest(c); err != nil {
		return err
	}
	if err := handler(c); err != nil {
		return err
	}
	if err := a.admission.limitAnswer(c, stateOf(c)); err != nil {
		c.Response().Reset() // nothing of the answer may be sent
		return err
	}
	return a.compressor.Compress(c)
}

// handleError answers requests that reach no middleware: malformed, or of a method that Fiber does not know.
func (a *API) handleError(c *fiber.Ctx, err error) error {
	began := time.Now()
	if err := a.writeError(c, err); err != nil {
		return err
	}
	a.report(c, a.metrics.none, telemetry.Span{}, began)
	return nil
}

// report sets the Server-Timing header, and records the answer.
func (a *API) report(c *fiber.Ctx, route *routeMetrics, span telemetry.Span, began time.Time) {
	duration := time.Since(began)
	var room [32]byte // milliseconds with three decimal places
	text := strconv.AppendFloat(append(room[:0], "app;dur="...), float64(duration.Microseconds())/1000, 'f', 3, 64)
	c.Response().Header.SetBytesV(HeaderServerTiming, text)
	a.record(c, route, span, duration)
}

// record counts, traces and logs an answer. It allocates only for what is logged or traced.
func (a *API) record(c *fiber.Ctx, route *routeMetrics, span telemetry.Span, duration time.Duration) {
	r := accessRecordOf(c, span, duration)
	a.metrics.count(route, &r)
	if span.Recorded() {
		r.setSpanAttributes(c, route.id)
	}
	a.log.write(c.UserContext(), route.id, &r)
}

// trace starts the span of a request, as part of a caller's trace for internal callers and trusted proxies only.
func (a *API) trace(c *fiber.Ctx) telemetry.Span {
	if a.admission.Tracer == nil {
		return telemetry.Span{}
	}
	header := &c.Request().Header
	ctx, span := a.admission.Tracer.StartServer(c.UserContext(), propagation.MapCarrier{
		"traceparent": string(header.Peek("traceparent")), "tracestate": string(header.Peek("tracestate")),
	}, a.admission.isTrusted(c))
	c.SetUserContext(ctx)
	return span
}

func (r *accessRecord) setSpanAttributes(c *fiber.Ctx, route string) {
	r.span.Describe(shownMethod(r.method)+" "+route,
		attribute.String("http.request.method", shownMethod(r.method)),
		attribute.String("http.route", strings.Clone(c.Route().Path)),
		attribute.Int("http.response.status_code", r.status),
		attribute.Int("http.response.body.size", r.bytes),
		attribute.String("pnyx.layer", string(r.source())),
		attribute.String("pnyx.request_id", strings.Clone(r.id)))
	if r.failed() {
		r.span.SetError(string(cmp.Or(r.code(), apierror.CodeInternal)))
	}
}
