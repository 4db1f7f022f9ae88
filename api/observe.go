package api

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"

	"pnyx/api/apierror"
	"pnyx/panics"
	"pnyx/telemetry"
)

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

// guard limits what a request is made of, runs a handler, takes from the bucket of the client's address if no
// bucket was taken from, and compresses the answer. A panic is an error.
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

// trace starts the span of a request. Only internal callers and trusted proxies may choose the trace that it
// belongs to, and whether it is recorded.
func (a *API) trace(c *fiber.Ctx) telemetry.Span {
	if a.options.Tracer == nil {
		return telemetry.Span{}
	}
	header := &c.Request().Header
	ctx, span := a.options.Tracer.StartServer(c.UserContext(), propagation.MapCarrier{
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
