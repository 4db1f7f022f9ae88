// Package access knows who is asking: callers with a partner token, of which a
// node keeps a copy of what the worker publishes, and internal callers. Nothing
// here can be turned back into a token.
package access

import (
	"errors"
	"time"

	"pnyx/ratelimit"
)

// HeaderToken carries a partner token, and HeaderInternal an internal one.
const (
	HeaderToken    = "X-Service-Api-Token" //nolint:gosec // a name
	HeaderInternal = "X-Service-Internal-Token"
)

// Errors of identifying a caller.
var (
	// ErrUnauthorized is a token that is malformed, unknown, expired or revoked.
	ErrUnauthorized = errors.New("the token is not valid")
	// ErrTokensUnavailable is a token that may be valid, while the tokens cannot be had.
	ErrTokensUnavailable = errors.New("the tokens are not available")
)

// Token is what the nodes know of a partner token.
type Token struct {
	ID   string         `msgpack:"i"`
	Plan ratelimit.Plan `msgpack:"p"`
	// Limits replaces those of the plan, where it is set.
	Limits *ratelimit.Limits `msgpack:"l,omitempty"`
	Scopes []Scope           `msgpack:"s"`
	// Hash is that of the token, and Previous that of the one before its rotation,
	// which is good until PreviousUntil.
	Hash          TokenHash  `msgpack:"v"`
	PreviousHash  TokenHash  `msgpack:"o"`
	PreviousUntil time.Time  `msgpack:"u"`
	CreatedAt     time.Time  `msgpack:"c"`
	ExpiresAt     *time.Time `msgpack:"e,omitempty"`
}

// EffectiveLimits returns the limits that hold for the token.
func (r *Token) EffectiveLimits() ratelimit.Limits {
	if r.Limits != nil {
		return *r.Limits
	}
	return r.Plan.Limits()
}

// accepts says whether a verifier is the token's at a moment. It takes the same
// time whatever it finds.
func (r *Token) accepts(v TokenHash, now time.Time) bool {
	current := r.Hash.equal(v)
	previous := r.PreviousHash.equal(v) && now.Before(r.PreviousUntil)
	expired := r.ExpiresAt != nil && !now.Before(*r.ExpiresAt)
	return (current || previous) && !expired
}
