package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"pnyx/access"
	"pnyx/api/apierror"
	"pnyx/api/routes"
	"pnyx/governance"
	"pnyx/ratelimit"
)

// admission decides which requests are answered: by their token, by a payment, or by the address of their client.
// It counts the answers, and decides which edges are trusted.
type admission struct {
	Options

	// freePolicy is the RateLimit-Policy of free routes; empty when they are not limited.
	freePolicy string
	now        func() time.Time
}

func newAdmission(o Options, now func() time.Time) *admission {
	a := &admission{Options: o, now: now}
	if rate, bounded := o.Addresses.Rate(); bounded {
		a.freePolicy = policyOf(ratelimit.Free, rate)
	}
	return a
}

// authenticate finds out who asks. Invalid credentials are noted, and matter only on routes that need some.
func (a *admission) authenticate(c *fiber.Ctx, s *requestState) {
	if token := c.Get(access.HeaderInternal); token != "" {
		if s.internal = a.Internal.Accepts(token); !s.internal {
			s.credentialErr = access.ErrUnauthorized
			return
		}
	}
	if token := c.Get(access.HeaderToken); token != "" {
		s.caller, s.credentialErr = a.Tokens.Authenticate(token, s.now)
	}
}

// requireScope returns an error unless the caller's token opens the route.
func (s *requestState) requireScope() error {
	if needed := s.route.Scope(); !s.caller.HasScope(needed) {
		return forbidden(needed, s.caller.Scopes)
	}
	return nil
}

// authorize decides whether a request with valid parameters is answered, and applies its caller's limits.
func (a *admission) authorize(c *fiber.Ctx, s *requestState, r *routes.Request) error {
	if err := a.recheckToken(c, s); err != nil {
		return err
	}
	switch {
	case s.route.TokenOnly:
		if err := s.requireToken(); err != nil || s.internal {
			return err
		}
		return a.limitIP(c, s)
	case s.internal:
		return nil
	case s.route.Tier == governance.Free:
		return a.limitIP(c, s)
	case s.credentialErr != nil:
		return credentialError(s.credentialErr)
	case s.caller == nil:
		return a.authorizePayment(c, s, r)
	}
	if err := s.requireScope(); err != nil {
		return err
	}
	limits := s.caller.EffectiveLimits()
	if s.route.Media != nil {
		if s.file = r.Name; c.Get(fiber.HeaderRange) != "" && a.Limiter.HasPaid(c.UserContext(), s.caller.ID, s.file) {
			s.prepaid, limits.Month = true, 0
		}
	}
	return a.limitCaller(c.UserContext(), s, limits)
}

// recheckToken looks once more for a token that the node does not know, where one is needed: it may have been
// issued a moment ago. The bucket of the address is taken from first, so that guessing is slow.
func (a *admission) recheckToken(c *fiber.Ctx, s *requestState) error {
	needed := s.route.TokenOnly || s.route.Paid() && !s.internal
	if !needed || !errors.Is(s.credentialErr, access.ErrUnknownToken) {
		return nil
	}
	if err := a.limitIP(c, s); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.UserContext(), a.RequestTimeout)
	defer cancel()
	s.caller, s.credentialErr = a.Tokens.Recheck(ctx, c.Get(access.HeaderToken), s.now)
	return nil
}

// requireToken refuses requests without a valid token, on routes where a payment is no alternative.
func (s *requestState) requireToken() error {
	if s.credentialErr != nil {
		return credentialError(s.credentialErr)
	}
	if s.caller == nil {
		return credentialError(fmt.Errorf("%w: it is missing", access.ErrUnauthorized))
	}
	return nil
}

func (a *admission) limitIP(c *fiber.Ctx, s *requestState) error {
	s.limited = true
	s.address = a.Addresses.Take(peerOf(c), forwardedFor(c), s.now)
	if s.address.Allowed {
		return nil
	}
	rate, _ := a.Addresses.Rate()
	return rateLimited(string(ratelimit.Free), ratelimit.Free, rate, s.address, s.now)
}

// limitCaller takes from the bucket and the monthly quota of a token or a paying address, as far as limits has
// them.
func (a *admission) limitCaller(ctx context.Context, s *requestState, limits ratelimit.Limits) error {
	var id string
	var plan ratelimit.Plan
	if s.charge != nil {
		id, plan, s.now = "payer:"+s.charge.Payer(), ratelimit.PayPerRequest, a.now()
	} else {
		id, plan = s.caller.ID, s.caller.Plan
	}
	now, bucket := s.now, s.route.Bucket()
	s.grant = a.Limiter.Take(ctx, ratelimit.Request{Caller: id, Limits: limits, Bucket: bucket, Further: s.further, Plan: plan}, now)
	s.limited, s.decided, s.now = true, true, a.now()
	switch {
	case s.grant.Quota.Refused:
		return quotaExceeded(string(plan), s.grant.Quota, now)
	case !s.grant.Decision.Allowed:
		return rateLimited(string(plan), bucket, limits.Rate(bucket), s.grant.Decision, now)
	}
	return nil
}

// finishAccounting sets the headers about limits, refunds what an answer without data took from the quota, and
// counts the answer for its token. A 200 to HEAD counts like one to GET: its headers describe the data.
func (a *admission) finishAccounting(c *fiber.Ctx, s *requestState) {
	if s.route == nil {
		return
	}
	status, charged := c.Response().StatusCode(), false
	if s.decided && s.grant.Allowed() {
		charged = (status == http.StatusOK || status == http.StatusPartialContent) && !s.prepaid && !s.unmetered
		switch {
		case !charged:
			a.Limiter.Refund(c.UserContext(), &s.grant)
		case s.file != "":
			a.Limiter.MarkPaid(c.UserContext(), s.caller.ID, s.file)
		}
	}
	a.setLimitHeaders(c, s)
	if status == http.StatusUnauthorized {
		c.Set(fiber.HeaderWWWAuthenticate, `ApiKey realm="pnyx", header="`+strings.ToLower(access.HeaderToken)+`"`)
	}
	if s.caller == nil || s.internal || s.route.Tier == governance.Free && !s.route.TokenOnly {
		return
	}
	counted := access.Response{TokenID: s.caller.ID, Route: s.route.ID, Status: status, Charged: charged}
	if c.Method() == fiber.MethodGet {
		counted.Bytes = bodyBytes(c) + s.delegatedBytes
	}
	a.Meter.Count(counted, s.now)
}

// credentialError is the error of credentials that are invalid, or cannot be checked at the moment.
func credentialError(cause error) *apierror.Error {
	if errors.Is(cause, access.ErrTokensUnavailable) {
		return apierror.Unavailable(cause)
	}
	return apierror.New(http.StatusUnauthorized, apierror.CodeUnauthorized,
		apierror.HeaderDetails{Header: strings.ToLower(access.HeaderToken)}, "%v", cause)
}

func forbidden(needed access.Scope, given []access.Scope) *apierror.Error {
	return apierror.New(http.StatusForbidden, apierror.CodeForbidden, map[string]any{"scopeNeeded": needed, "scopes": given},
		"the token needs the scope %s for this endpoint", needed)
}
