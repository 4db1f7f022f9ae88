package api

import (
	"cmp"
	"time"

	"github.com/gofiber/fiber/v2"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/telemetry"
)

// accessRecord describes an answered request for metrics, log and trace.
type accessRecord struct {
	*requestState

	// method and path are the request's, as part of its memory.
	method, path string
	// status is the HTTP status, and bytes the length of the body as sent.
	status, bytes int
	// duration is how long the answer took on this node.
	duration time.Duration
	// span is the span of the request; the zero span records nothing.
	span telemetry.Span
}

// accessRecordOf returns the record of a request that was answered.
func accessRecordOf(c *fiber.Ctx, span telemetry.Span, duration time.Duration) accessRecord {
	r := accessRecord{
		requestState: stateOf(c), method: c.Method(), path: c.Path(),
		status: c.Response().StatusCode(), duration: duration, span: span,
	}
	r.requestID(c)
	if r.method == fiber.MethodGet {
		r.bytes = bodyBytes(c)
	}
	return r
}

// code returns the code of the error; empty for an answer.
func (r *accessRecord) code() apierror.Code {
	if r.err == nil {
		return ""
	}
	return r.err.Code
}

// source returns the layer that the data came from; empty where none was read. It is
// LayerNone where data was read and is not available.
func (r *accessRecord) source() httpcache.Layer {
	switch {
	case r.err == nil:
		return r.layer
	case r.queried && r.err.Code == apierror.CodeUnavailable:
		return httpcache.LayerNone
	}
	return ""
}

// dataReadiness returns the readiness of the data; empty where none was read.
func (r *accessRecord) dataReadiness() governance.Readiness {
	if r.source() == httpcache.LayerNone {
		return governance.ReadinessUnavailable
	}
	return r.readiness
}

// token returns the id and plan of the token that was sent. An internal caller and a
// payer have a plan without an id; anyone else has neither.
func (r *accessRecord) token() (id string, plan ratelimit.Plan) {
	switch {
	case r.internal:
		return "", planInternal
	case r.charge != nil:
		return "", ratelimit.PayPerRequest
	case r.caller != nil:
		return r.caller.ID, r.caller.Plan
	}
	return "", ""
}

// planInternal is logged as the plan of internal callers, who have none.
const planInternal ratelimit.Plan = "internal"

// failed reports whether the service failed.
func (r *accessRecord) failed() bool {
	return r.status >= fiber.StatusInternalServerError
}

// errorName is the error of a failed request in its trace.
func (r *accessRecord) errorName() string {
	return cmp.Or(string(r.code()), string(apierror.CodeInternal))
}
