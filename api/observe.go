package api

import (
	"net/netip"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/attribute"

	"pnyx/access"
	"pnyx/telemetry"
)

// observe sees every request from its first moment to after its answer.
func (a *API) observe(c *fiber.Ctx) error {
	began := time.Now()
	a.metrics.inFlight.Inc()
	defer a.metrics.inFlight.Dec()
	span := a.trace(c)
	defer span.End()
	if err := c.Next(); err != nil {
		// Answered here, so that the status is known when it is counted.
		if err := a.writeError(c, err); err != nil {
			return err
		}
	}
	a.finishAccounting(c)
	a.report(c, a.metrics.of(c), span, began)
	return nil
}

// handleError answers what comes to no handler: what cannot be read, or is of a method
// that nobody has heard of.
func (a *API) handleError(c *fiber.Ctx, err error) error {
	began := time.Now()
	if err := a.writeError(c, err); err != nil {
		return err
	}
	a.report(c, a.metrics.none, telemetry.Span{}, began)
	return nil
}

// report tells the operator, and the caller, about an answer.
func (a *API) report(c *fiber.Ctx, route *routeMetrics, span telemetry.Span, began time.Time) {
	took := time.Since(began)
	setTiming(c, took)
	a.record(c, route, span, took)
}

// record counts and logs an answer. For one that is not logged it allocates nothing.
func (a *API) record(c *fiber.Ctx, route *routeMetrics, span telemetry.Span, took time.Duration) {
	v := accessRecordOf(c, span, took)
	a.metrics.count(route, &v)
	if span.Recorded() {
		v.setSpanAttributes(c, route.id)
	}
	a.log.write(c, route.id, &v)
}

// trace begins the span of a request. Internal callers and trusted proxies may say
// which trace it belongs to, and that it is to be recorded.
func (a *API) trace(c *fiber.Ctx) telemetry.Span {
	if a.tracer == nil {
		return telemetry.Span{}
	}
	ctx, span := a.tracer.StartServer(c.UserContext(), headerCarrier{&c.Request().Header}, a.isTrusted(c))
	c.SetUserContext(ctx)
	return span
}

func (a *API) isTrusted(c *fiber.Ctx) bool {
	peer, _ := netip.AddrFromSlice(c.Context().RemoteIP()) //nolint:forbidigo // the connection is fasthttp's to know
	return a.addresses.TrustsProxy(peer) || a.internal.Accepts(c.Get(access.HeaderInternal))
}

// attributes tells a trace what a request was and what became of it.
func (v *accessRecord) setSpanAttributes(c *fiber.Ctx, route string) {
	v.span.Describe(method(c)+" "+route,
		attribute.String("http.request.method", method(c)), attribute.String("http.route", strings.Clone(c.Route().Path)),
		attribute.Int("http.response.status_code", v.status), attribute.Int("http.response.body.size", v.bytes),
		attribute.String("pnyx.layer", string(v.layer())), attribute.String("pnyx.request_id", requestID(c)))
	if v.failed() {
		v.span.SetError(v.errorName())
	}
}

// headerCarrier reads the headers of a request for whoever continues a trace.
type headerCarrier struct{ header *fasthttp.RequestHeader }

// Get returns a copy of a header.
func (h headerCarrier) Get(name string) string { return string(h.header.Peek(name)) }

// Set is not needed for reading.
func (h headerCarrier) Set(string, string) {}

// Keys is not needed for reading these headers.
func (h headerCarrier) Keys() []string { return nil }
