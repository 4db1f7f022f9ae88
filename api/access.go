package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/governance"
	"pnyx/ratelimit"
)

// pass is who asks, and what they were granted. Every request to a route has one,
// from its first moment to after its answer.
type pass struct {
	route *Route
	// at is when the request came, or when what it had to wait for was there: the time
	// that its answer goes by. Reading a clock is dear beside the rest of a hit.
	at time.Time
	// internal callers are neither limited nor metered.
	internal bool
	// caller has a valid token; nil for nobody.
	caller *access.Caller
	// refusal says what is wrong with the credentials; nil when none were given.
	refusal error
	// grant is what the limiter said; nil when it was not asked.
	grant *ratelimit.Grant
	// charge is the payment for this request alone; nil when there is none.
	charge *x402.Charge
	// looked says that an answer was looked for, and layer and readiness where it was
	// found and how far it may be relied on.
	looked    bool
	layer     layer
	readiness governance.Readiness
	// leftBytes is the length of a body that an edge sends.
	leftBytes int
}

// cameFrom notes where the answer was found. A nil pass is that of nobody.
func (p *pass) cameFrom(l layer) {
	if p != nil {
		p.layer = l
	}
}

// passKey finds the pass of a request.
type passKey struct{}

// passOf returns the pass of the request that an answer is worked out for.
func passOf(ctx context.Context) *pass {
	p, _ := ctx.Value(passKey{}).(*pass)
	return p
}

// identify finds out who asks. What is wrong with credentials matters only where
// some are needed.
func (a *API) identify(c *fiber.Ctx, route *Route) *pass {
	p := &pass{route: route, at: a.now()}
	c.Locals(passKey{}, p)
	if token := c.Get(access.HeaderInternal); token != "" {
		if p.internal = a.internal.Accepts(token); !p.internal {
			p.refusal = access.ErrUnauthorized
			return p
		}
	}
	if token := c.Get(access.HeaderToken); token != "" {
		p.caller, p.refusal = a.tokens.Identify(token, p.at)
	}
	return p
}

// admit decides whether a request whose parameters are right gets an answer.
func (a *API) admit(c *fiber.Ctx, p *pass, values Values) error {
	switch {
	case p.route.Personal:
		if err := p.wantToken(); err != nil || p.internal {
			return err
		}
		return a.admitAddress(c, p)
	case p.internal:
		return nil
	case p.route.Tier == Free:
		return a.admitAddress(c, p)
	case p.refusal != nil:
		return refused(p.refusal)
	case p.caller == nil:
		return a.admitPayment(c, p, values)
	}
	if needed := p.route.scope(); !p.caller.May(needed) {
		return forbidden(needed, p.caller.Scopes)
	}
	return a.admitWithinLimits(c, p)
}

// scope is the least scope that opens a paid route.
func (r *Route) scope() access.Scope {
	if r.Tier == Plus {
		return access.V2Plus
	}
	return access.V2Standard
}

// wantToken refuses whoever has no valid token, where payment is no way in.
func (p *pass) wantToken() error {
	if p.refusal != nil {
		return refused(p.refusal)
	}
	if p.caller == nil {
		return refused(fmt.Errorf("%w: it is missing", access.ErrUnauthorized))
	}
	return nil
}

// admitAddress holds the anonymous callers of free routes to their rate.
func (a *API) admitAddress(c *fiber.Ctx, p *pass) error {
	peer, _ := netip.AddrFromSlice(c.Context().RemoteIP()) //nolint:forbidigo // the connection is fasthttp's to know
	decision := a.addresses.Take(peer, c.Get(fiber.HeaderXForwardedFor), p.at)
	if decision.Allowed {
		return nil
	}
	rate, _ := a.addresses.Rate()
	return rateLimited("free", ratelimit.Free, rate, decision, p.at)
}

// admitWithinLimits takes from the bucket and the month of a caller.
func (a *API) admitWithinLimits(c *fiber.Ctx, p *pass) error {
	now := p.at
	grant := a.limiter.Take(c.UserContext(), ratelimit.Request{
		Caller: p.caller.ID, Limits: p.caller.LimitsInForce(), Bucket: ratelimit.Bucket(p.route.Bucket()),
		Plan: p.caller.Plan,
	}, now)
	p.grant, p.at = &grant, a.now()
	switch {
	case grant.Quota.Refused:
		return quotaExceeded(string(p.caller.Plan), grant.Quota, now)
	case !grant.Decision.Allowed:
		return rateLimited(string(p.caller.Plan), grant.Request.Bucket, grant.Request.Limits.Rate(grant.Request.Bucket), grant.Decision, now)
	}
	return nil
}

// settle closes the account of a request once its answer is known: only answers
// that carry data count towards the month.
func (a *API) settle(c *fiber.Ctx) {
	p, known := c.Locals(passKey{}).(*pass)
	if !known {
		return
	}
	status, isGet := c.Response().StatusCode(), c.Method() == fiber.MethodGet
	charged := false
	if p.grant != nil && p.grant.Allowed() {
		charged = status == http.StatusOK && isGet
		if !charged {
			a.limiter.GiveBack(c.UserContext(), p.grant)
		}
	}
	a.tellLimits(c, p)
	if status == http.StatusUnauthorized {
		c.Set(fiber.HeaderWWWAuthenticate, `ApiKey realm="pnyx", header="`+strings.ToLower(access.HeaderToken)+`"`)
	}
	if p.caller == nil || p.internal || p.route.Tier == Free && !p.route.Personal {
		return
	}
	counted := access.Answer{TokenID: p.caller.ID, Route: p.route.ID, Status: status, Charged: charged}
	if isGet {
		counted.Bytes = len(c.Response().Body()) + p.leftBytes
	}
	a.meter.Count(counted, p.at)
}

// refused is the error of credentials that are not valid, or cannot be told to be.
func refused(cause error) *Error {
	if errors.Is(cause, access.ErrUnknowable) {
		return unavailable(cause)
	}
	return &Error{
		Status: http.StatusUnauthorized, Code: CodeUnauthorized,
		Message: cause.Error(),
		Details: map[string]any{"header": strings.ToLower(access.HeaderToken)},
	}
}

// forbidden is the error of a token whose scopes are too small.
func forbidden(needed access.Scope, given []access.Scope) *Error {
	return &Error{
		Status: http.StatusForbidden, Code: CodeForbidden,
		Message: fmt.Sprintf("the token needs the scope %s for this endpoint", needed),
		Details: map[string]any{"scopeNeeded": needed, "scopes": given},
	}
}
