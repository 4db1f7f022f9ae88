package api

import (
	"cmp"
	"time"

	"github.com/gofiber/fiber/v2"

	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/telemetry"
)

// accessRecord is a request that was answered, as it is counted and logged.
type accessRecord struct {
	status   int
	bytes    int
	duration time.Duration
	// requestState is nil where no route was asked, and failure where there was none.
	pass *requestState
	err  *Error
	span telemetry.Span
}

// errorKey finds the error that a request was answered with.
type errorKey struct{}

// accessRecordOf reads what became of a request.
func accessRecordOf(c *fiber.Ctx, span telemetry.Span, took time.Duration) accessRecord {
	v := accessRecord{status: c.Response().StatusCode(), duration: took, span: span}
	v.pass, _ = c.Locals(requestStateKey{}).(*requestState)
	v.err, _ = c.Locals(errorKey{}).(*Error)
	if c.Method() == fiber.MethodGet {
		v.bytes = len(c.Response().Body())
	}
	return v
}

// code is that of the error; empty for an answer.
func (v *accessRecord) code() Code {
	if v.err == nil {
		return ""
	}
	return v.err.Code
}

// layer is where the data came from; empty where none was looked for, or there was
// nothing to be had for other reasons than that it could not be.
func (v *accessRecord) layer() layer {
	switch {
	case v.pass == nil:
		return ""
	case v.err == nil:
		return v.pass.layer
	case v.pass.lookedUp && v.err.Code == CodeUnavailable:
		return layerNone
	}
	return ""
}

// readiness is that of the answer.
func (v *accessRecord) readiness() governance.Readiness {
	if v.layer() == layerNone {
		return governance.ReadinessUnavailable
	}
	if v.pass == nil {
		return ""
	}
	return v.pass.readiness
}

// caller is the id of the token that was sent, and its plan; empty for nobody's.
func (v *accessRecord) caller() (tokenID string, plan ratelimit.Plan) {
	switch {
	case v.pass == nil:
		return "", ""
	case v.pass.internal:
		return "", planInternal
	case v.pass.charge != nil:
		return "", ratelimit.PayPerRequest
	case v.pass.caller != nil:
		return v.pass.caller.ID, v.pass.caller.Plan
	}
	return "", ""
}

// planInternal stands for the plan of internal callers, who have none.
const planInternal ratelimit.Plan = "internal"

// failed says whether the service did not do what it is for.
func (v *accessRecord) failed() bool {
	return v.status >= fiber.StatusInternalServerError
}

// errorName is what a failure is called in a trace.
func (v *accessRecord) errorName() string {
	return cmp.Or(string(v.code()), string(CodeInternal))
}
