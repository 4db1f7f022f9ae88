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

// requestState is who asks, and what they were granted. Every request to a route has one,
// from its first moment to after its answer.
type requestState struct {
	route *Route
	// now is when the request came, or when what it had to wait for was there: the time
	// that its answer goes by. Reading a clock is dear beside the rest of a hit.
	now time.Time
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
	// lookedUp says that an answer was looked for, and layer and readiness where it was
	// found and how far it may be relied on.
	lookedUp  bool
	layer     layer
	readiness governance.Readiness
	// delegatedBytes is the length of a body that an edge sends.
	delegatedBytes int
}

// setLayer notes where the answer was found. A nil pass is that of nobody.
func (p *requestState) setLayer(l layer) {
	if p != nil {
		p.layer = l
	}
}

// requestStateKey finds the pass of a request.
type requestStateKey struct{}

// requestStateOf returns the pass of the request that an answer is worked out for.
func requestStateOf(ctx context.Context) *requestState {
	p, _ := ctx.Value(requestStateKey{}).(*requestState)
	return p
}

// authenticate finds out who asks. What is wrong with credentials matters only where
// some are needed.
func (a *API) authenticate(c *fiber.Ctx, route *Route) *requestState {
	p := &requestState{route: route, now: a.now()}
	c.Locals(requestStateKey{}, p)
	if token := c.Get(access.HeaderInternal); token != "" {
		if p.internal = a.internal.Accepts(token); !p.internal {
			p.refusal = access.ErrUnauthorized
			return p
		}
	}
	if token := c.Get(access.HeaderToken); token != "" {
		p.caller, p.refusal = a.tokens.Authenticate(token, p.now)
	}
	return p
}

// authorize decides whether a request whose parameters are right gets an answer.
func (a *API) authorize(c *fiber.Ctx, p *requestState, values Values) error {
	switch {
	case p.route.TokenOnly:
		if err := p.requireToken(); err != nil || p.internal {
			return err
		}
		return a.limitIP(c, p)
	case p.internal:
		return nil
	case p.route.Tier == Free:
		return a.limitIP(c, p)
	case p.refusal != nil:
		return credentialError(p.refusal)
	case p.caller == nil:
		return a.authorizePayment(c, p, values)
	}
	if needed := p.route.scope(); !p.caller.HasScope(needed) {
		return forbidden(needed, p.caller.Scopes)
	}
	return a.limitToken(c, p)
}

// scope is the least scope that opens a paid route.
func (r *Route) scope() access.Scope {
	if r.Tier == Plus {
		return access.V2Plus
	}
	return access.V2Standard
}

// requireToken refuses whoever has no valid token, where payment is no way in.
func (p *requestState) requireToken() error {
	if p.refusal != nil {
		return credentialError(p.refusal)
	}
	if p.caller == nil {
		return credentialError(fmt.Errorf("%w: it is missing", access.ErrUnauthorized))
	}
	return nil
}

// limitIP holds the anonymous callers of free routes to their rate.
func (a *API) limitIP(c *fiber.Ctx, p *requestState) error {
	peer, _ := netip.AddrFromSlice(c.Context().RemoteIP()) //nolint:forbidigo // the connection is fasthttp's to know
	decision := a.addresses.Take(peer, c.Get(fiber.HeaderXForwardedFor), p.now)
	if decision.Allowed {
		return nil
	}
	rate, _ := a.addresses.Rate()
	return rateLimited("free", ratelimit.Free, rate, decision, p.now)
}

// limitToken takes from the bucket and the month of a caller.
func (a *API) limitToken(c *fiber.Ctx, p *requestState) error {
	now := p.now
	grant := a.limiter.Take(c.UserContext(), ratelimit.Request{
		Caller: p.caller.ID, Limits: p.caller.EffectiveLimits(), Bucket: ratelimit.Bucket(p.route.Bucket()),
		Plan: p.caller.Plan,
	}, now)
	p.grant, p.now = &grant, a.now()
	switch {
	case grant.Quota.Refused:
		return quotaExceeded(string(p.caller.Plan), grant.Quota, now)
	case !grant.Decision.Allowed:
		return rateLimited(string(p.caller.Plan), grant.Request.Bucket, grant.Request.Limits.Rate(grant.Request.Bucket), grant.Decision, now)
	}
	return nil
}

// finishAccounting closes the account of a request once its answer is known: only answers
// that carry data count towards the month.
func (a *API) finishAccounting(c *fiber.Ctx) {
	p, known := c.Locals(requestStateKey{}).(*requestState)
	if !known {
		return
	}
	status, isGet := c.Response().StatusCode(), c.Method() == fiber.MethodGet
	charged := false
	if p.grant != nil && p.grant.Allowed() {
		charged = status == http.StatusOK && isGet
		if !charged {
			a.limiter.Refund(c.UserContext(), p.grant)
		}
	}
	a.setLimitHeaders(c, p)
	if status == http.StatusUnauthorized {
		c.Set(fiber.HeaderWWWAuthenticate, `ApiKey realm="pnyx", header="`+strings.ToLower(access.HeaderToken)+`"`)
	}
	if p.caller == nil || p.internal || p.route.Tier == Free && !p.route.TokenOnly {
		return
	}
	counted := access.Response{TokenID: p.caller.ID, Route: p.route.ID, Status: status, Charged: charged}
	if isGet {
		counted.Bytes = len(c.Response().Body()) + p.delegatedBytes
	}
	a.meter.Count(counted, p.now)
}

// credentialError is the error of credentials that are not valid, or cannot be told to be.
func credentialError(cause error) *Error {
	if errors.Is(cause, access.ErrTokensUnavailable) {
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
