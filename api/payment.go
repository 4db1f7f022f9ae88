package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/api/routes"
	"pnyx/ratelimit"
)

// HeaderFormerPayment is the header of a payment in version 1 of the protocol, which is refused.
const HeaderFormerPayment = "X-PAYMENT"

// authorizePayment authorizes a request by its payment. HEAD is challenged as GET: there is no body to pay for.
func (a *admission) authorizePayment(c *fiber.Ctx, s *requestState, r *routes.Request) error {
	if a.Payments == nil {
		return tokenRequired(*s.route)
	}
	if s.reader != nil {
		return s.reader.pay(c, s)
	}
	return a.beginPayment(c, s, x402.Request{
		RouteID: s.route.ID, URL: strings.Clone(c.Path()), Description: s.route.Summary, MIMEType: r.Media(), Canonical: r.Canonical(),
	})
}

// beginPayment begins the payment in a request's header, and applies the limits of the payer.
func (a *admission) beginPayment(c *fiber.Ctx, s *requestState, request x402.Request) error {
	header := strings.Clone(c.Get(x402.HeaderPayment))
	if header == "" || c.Method() == fiber.MethodHead {
		refusal := a.Payments.Challenge(request)
		if c.Get(HeaderFormerPayment) != "" {
			refusal.Message = HeaderFormerPayment + " is of version 1 of x402, and version 2 is spoken here; " + refusal.Message
		}
		return paymentError(*s.route, refusal)
	}
	if err := a.checkEdgeTimeout(c); err != nil {
		return err
	}
	if err := a.limitPayment(c, s, ratelimit.Payment); err != nil {
		return err
	}
	payment, err := a.Payments.Read(request, header)
	if err != nil {
		return paymentError(*s.route, err)
	}
	if payment.NeedsContract() {
		if err := a.limitPayment(c, s, ratelimit.ContractPayment); err != nil {
			return err
		}
	}
	charge, err := a.Payments.Begin(c.UserContext(), request, payment)
	if err != nil {
		return paymentError(*s.route, err)
	}
	s.charge = charge
	return a.limitCaller(c.UserContext(), s, ratelimit.PayPerRequest.Limits())
}

// limitPayment takes from a bucket for payments of the client's address, before Redis or the facilitator gets one.
func (a *admission) limitPayment(c *fiber.Ctx, s *requestState, bucket ratelimit.Bucket) error {
	s.limited = true
	decision := a.Addresses.TakePayment(bucket, peerOf(c), forwardedFor(c), s.now)
	if decision.Allowed {
		return nil
	}
	return rateLimited(string(ratelimit.PayPerRequest), bucket, ratelimit.PaymentRate(bucket), decision, s.now)
}

// releasePayment makes a payment usable again that was not settled.
func (s *requestState) releasePayment(c *fiber.Ctx) {
	if s.charge != nil {
		s.charge.Release(c.UserContext())
	}
}

// settlePayment settles a payment and stores what it bought. When that fails, the answer is discarded.
func settlePayment(c *fiber.Ctx, s *requestState, purchased x402.Response) error {
	if err := s.charge.Settle(c.UserContext(), purchased); err != nil {
		c.Response().Reset() // nothing of the answer may be sent
		return paymentError(*s.route, err)
	}
	c.Set(x402.HeaderReceipt, s.charge.Receipt())
	return nil
}

func replayAnswer(c *fiber.Ctx, s *requestState, purchased x402.Response) error {
	for name, value := range purchased.Header {
		c.Set(name, value)
	}
	setJSONHeaders(c, s)
	setVary(c, s)
	c.Set(fiber.HeaderCacheControl, httpcache.PrivateNoStore)
	c.Set(x402.HeaderReceipt, s.charge.Receipt())
	if s.route.Media != nil {
		return replayFile(c, purchased)
	}
	return c.Status(http.StatusOK).Send(purchased.Body)
}

// tokenRequired is the error of a paid route where no payments are taken.
func tokenRequired(route routes.Route) *apierror.Error {
	return apierror.New(http.StatusPaymentRequired, apierror.CodePaymentRequired, paidRouteDetails(route),
		"this endpoint is paid, and payment per request is not offered here: send a partner token, "+
			"which the operator issues on request, in the header %s", strings.ToLower(access.HeaderToken))
}

// paidRouteDetails says which token opens a paid route.
func paidRouteDetails(route routes.Route) apierror.PaymentDetails {
	return apierror.PaymentDetails{
		RouteID: route.ID, Tier: route.Tier, Scope: route.Scope(),
		Header: strings.ToLower(access.HeaderToken),
	}
}

// paymentError is the error of a payment that is missing or refused; one that is no x402.RefusedError is internal.
func paymentError(route routes.Route, err error) *apierror.Error {
	refusal, is := errors.AsType[*x402.RefusedError](err)
	if !is {
		return apierror.Internal(fmt.Errorf("take a payment: %w", err))
	}
	e := &apierror.Error{
		Message: refusal.Message, Details: apierror.ReasonDetails{Reason: refusal.Reason},
		RetryAfter: refusal.RetryAfter, Cause: refusal.Cause,
	}
	header := strings.ToLower(x402.HeaderPayment)
	switch refusal.Kind {
	case x402.Malformed:
		e.Status, e.Code = http.StatusBadRequest, apierror.CodeValidation
		e.Details = apierror.HeaderDetails{Header: header, Reason: refusal.Reason}
	case x402.InProgress:
		e.Status, e.Code = http.StatusConflict, apierror.CodePaymentInProgress
	case x402.Pending:
		e.Status, e.Code = http.StatusGatewayTimeout, apierror.CodeSettlementPending
	case x402.Unavailable:
		e.Status, e.Code = http.StatusServiceUnavailable, apierror.CodeUnavailable
	case x402.Required:
		e.Status, e.Code = http.StatusPaymentRequired, apierror.CodePaymentRequired
		e.Headers = map[string]string{x402.HeaderRequired: refusal.Challenge.Header()}
		details := paidRouteDetails(route)
		details.Reason = refusal.Reason
		details.Payment = &apierror.PaymentTerms{
			X402Version: refusal.Challenge.X402Version, Resource: refusal.Challenge.Resource,
			Accepts: refusal.Challenge.Accepts, Header: header,
		}
		e.Details = details
	}
	if refusal.Receipt != "" {
		e.Headers[x402.HeaderReceipt] = refusal.Receipt
	}
	return e
}
