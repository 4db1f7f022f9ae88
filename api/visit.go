package api

import (
	"cmp"
	"time"

	"github.com/gofiber/fiber/v2"

	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/telemetry"
)

// visit is a request that was answered, as it is counted and logged.
type visit struct {
	status int
	bytes  int
	took   time.Duration
	// pass is nil where no route was asked, and failure where there was none.
	pass    *pass
	failure *Error
	span    telemetry.Span
}

// failureKey finds the error that a request was answered with.
type failureKey struct{}

// visitOf reads what became of a request.
func visitOf(c *fiber.Ctx, span telemetry.Span, took time.Duration) visit {
	v := visit{status: c.Response().StatusCode(), took: took, span: span}
	v.pass, _ = c.Locals(passKey{}).(*pass)
	v.failure, _ = c.Locals(failureKey{}).(*Error)
	if c.Method() == fiber.MethodGet {
		v.bytes = len(c.Response().Body())
	}
	return v
}

// code is that of the error; empty for an answer.
func (v *visit) code() Code {
	if v.failure == nil {
		return ""
	}
	return v.failure.Code
}

// layer is where the data came from; empty where none was looked for, or there was
// nothing to be had for other reasons than that it could not be.
func (v *visit) layer() layer {
	switch {
	case v.pass == nil:
		return ""
	case v.failure == nil:
		return v.pass.layer
	case v.pass.looked && v.failure.Code == CodeUnavailable:
		return layerNone
	}
	return ""
}

// readiness is that of the answer.
func (v *visit) readiness() governance.Readiness {
	if v.layer() == layerNone {
		return governance.ReadinessUnavailable
	}
	if v.pass == nil {
		return ""
	}
	return v.pass.readiness
}

// caller is the id of the token that was sent, and its plan; empty for nobody's.
func (v *visit) caller() (tokenID string, plan ratelimit.Plan) {
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
func (v *visit) failed() bool {
	return v.status >= fiber.StatusInternalServerError
}

// reason is what a failure is called in a trace.
func (v *visit) reason() string {
	return cmp.Or(string(v.code()), string(CodeInternal))
}
