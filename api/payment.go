package api

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/ratelimit"
)

// purchasedAnswer returns the answer that the payment of a request has bought before.
func (p *requestState) purchasedAnswer() (x402.Response, bool) {
	if p.charge == nil {
		return x402.Response{}, false
	}
	return p.charge.StoredResponse()
}

// authorizePayment lets a request in that pays for itself. HEAD gets the challenge that
// GET would: there is no answer to pay for.
func (a *API) authorizePayment(c *fiber.Ctx, p *requestState, values Values) error {
	if a.payments == nil {
		return tokenRequired(*p.route)
	}
	request := x402.Request{
		RouteID: p.route.ID, Path: strings.Clone(c.Path()), Description: p.route.Summary,
		Canonical: values.canonical(),
	}
	header := strings.Clone(c.Get(x402.HeaderPayment))
	if header == "" || c.Method() == fiber.MethodHead {
		return paymentError(*p.route, a.payments.Challenge(request))
	}
	charge, err := a.payments.Begin(c.UserContext(), request, header)
	if err != nil {
		return paymentError(*p.route, err)
	}
	p.charge = charge
	return a.limitPayer(c, p)
}

// limitPayer holds whoever pays to the rate of those who pay.
func (a *API) limitPayer(c *fiber.Ctx, p *requestState) error {
	now := a.now()
	grant := a.limiter.Take(c.UserContext(), ratelimit.Request{
		Caller: "payer:" + p.charge.Payer(), Limits: ratelimit.PayPerRequest.Limits(), Bucket: ratelimit.Bucket(p.route.Bucket()),
		Plan: ratelimit.PayPerRequest,
	}, now)
	p.grant, p.now = &grant, a.now()
	if grant.Decision.Allowed {
		return nil
	}
	return rateLimited(string(ratelimit.PayPerRequest), grant.Request.Bucket,
		grant.Request.Limits.Rate(grant.Request.Bucket), grant.Decision, now)
}

// releasePayment lets go of a payment that has bought nothing.
func (a *API) releasePayment(c *fiber.Ctx, p *requestState) {
	if p.charge != nil {
		p.charge.Release(c.UserContext())
	}
}

// settlePayment has the payment charged for the answer that is about to be sent. Only a
// success is paid for.
func (a *API) settlePayment(c *fiber.Ctx, p *requestState) error {
	if p.charge == nil || c.Response().StatusCode() != http.StatusOK {
		return nil
	}
	bought := x402.Response{Body: bytes.Clone(c.Response().Body()), Header: map[string]string{}}
	if link := c.GetRespHeader(fiber.HeaderLink); link != "" {
		bought.Header[fiber.HeaderLink] = strings.Clone(link)
	}
	if err := p.charge.Settle(c.UserContext(), bought); err != nil {
		// Nothing of the answer may leak.
		c.Response().Reset()
		p.setVary(c)
		return paymentError(*p.route, err)
	}
	c.Set(x402.HeaderReceipt, p.charge.Receipt())
	return nil
}

// replayAnswer sends what the payment has bought before.
func (a *API) replayAnswer(c *fiber.Ctx, p *requestState, first x402.Response) error {
	for name, value := range first.Header {
		c.Set(name, value)
	}
	setJSONHeaders(c)
	c.Set(fiber.HeaderCacheControl, PrivateNoStore)
	c.Set(x402.HeaderReceipt, p.charge.Receipt())
	return c.Status(http.StatusOK).Send(first.Body)
}

// tokenRequired is the error of a paid route where no payments are taken.
func tokenRequired(route Route) *Error {
	return &Error{
		Status: http.StatusPaymentRequired, Code: CodePaymentRequired,
		Message: "this endpoint is paid, and payment per request is not offered here: send a partner token, " +
			"which the operator issues on request, in the header " + strings.ToLower(access.HeaderToken),
		Details: paidRouteDetails(route),
	}
}

// paidRouteDetails says what opens a paid route beside a payment.
func paidRouteDetails(route Route) map[string]any {
	return map[string]any{
		"routeId": route.ID, "tier": route.Tier, "scope": route.scope(),
		"header": strings.ToLower(access.HeaderToken),
	}
}

// paymentError is the error of a payment that is missing, or was not taken.
func paymentError(route Route, err error) error {
	refusal, is := errors.AsType[*x402.RefusedError](err)
	if !is {
		return fmt.Errorf("take a payment: %w", err)
	}
	e := &Error{Message: refusal.Message, RetryAfter: refusal.RetryAfter, Cause: refusal.Cause, Details: map[string]any{}}
	if refusal.Reason != "" {
		e.Details["reason"] = refusal.Reason
	}
	switch refusal.Kind {
	case x402.Malformed:
		e.Status, e.Code = http.StatusBadRequest, CodeValidation
		e.Details["header"] = strings.ToLower(x402.HeaderPayment)
	case x402.InProgress:
		e.Status, e.Code = http.StatusConflict, CodePaymentInProgress
	case x402.Pending:
		e.Status, e.Code = http.StatusGatewayTimeout, CodeSettlementPending
	case x402.Unavailable:
		e.Status, e.Code = http.StatusServiceUnavailable, CodeUnavailable
	case x402.Required:
		e.Status, e.Code = http.StatusPaymentRequired, CodePaymentRequired
		e.Headers = map[string]string{x402.HeaderRequired: refusal.Challenge.Header()}
		e.Details = paidRouteDetails(route)
		e.Details["reason"] = refusal.Reason
		e.Details["payment"] = map[string]any{
			"x402Version": refusal.Challenge.X402Version, "resource": refusal.Challenge.Resource,
			"accepts": refusal.Challenge.Accepts, "header": strings.ToLower(x402.HeaderPayment),
		}
	}
	if refusal.Receipt != "" {
		e.Headers[x402.HeaderReceipt] = refusal.Receipt
	}
	return e
}
