// Package access authenticates callers and counts what they use.
//
// [TokenCache] holds an API node's copy of the valid partner tokens, which a worker
// publishes, and authenticates requests against it. [InternalTokens] are the tokens of
// internal callers. [Meter] counts responses by token, day and route. Tokens are stored
// as SHA-256 hashes only.
package access

import (
	"errors"
	"fmt"
	"time"

	"pnyx/ratelimit"
)

// HeaderToken is the header with a partner token, HeaderInternal that with an internal one.
const (
	HeaderToken    = "X-Service-Api-Token" //nolint:gosec // the name of a header
	HeaderInternal = "X-Service-Internal-Token"
)

var (
	// ErrUnauthorized means that a token is malformed, unknown, expired or revoked.
	ErrUnauthorized = errors.New("the token is not valid")
	// ErrUnknownToken is ErrUnauthorized for a well-formed token that a copy of the valid tokens lacks. It may
	// have been issued or rotated since; see TokenCache.Recheck.
	ErrUnknownToken = fmt.Errorf("%w: it is unknown, expired or revoked", ErrUnauthorized)
	// ErrTokensUnavailable means that an unknown token may be valid: the copy of the tokens is missing or
	// outdated.
	ErrTokensUnavailable = errors.New("the tokens are not available")
)

// Token is a partner token as API nodes know it.
type Token struct {
	ID   string         `msgpack:"i"`
	Plan ratelimit.Plan `msgpack:"p"`
	// Limits replaces the limits of the plan; nil for none.
	Limits *ratelimit.Limits `msgpack:"l,omitempty"`
	Scopes []Scope           `msgpack:"s"`
	Hash   TokenHash         `msgpack:"v"`
	// PreviousHash is the hash before the last rotation, valid until PreviousUntil.
	PreviousHash  TokenHash  `msgpack:"o"`
	PreviousUntil time.Time  `msgpack:"u"`
	CreatedAt     time.Time  `msgpack:"c"`
	ExpiresAt     *time.Time `msgpack:"e,omitempty"` // nil for never
}

// EffectiveLimits returns the limits of the token: its own, or its plan's.
func (t *Token) EffectiveLimits() ratelimit.Limits {
	if t.Limits != nil {
		return *t.Limits
	}
	return t.Plan.Limits()
}

// accepts reports, in the same time whatever the result, whether a hash matches the token at a time.
func (t *Token) accepts(hash TokenHash, now time.Time) bool {
	current := t.Hash.equal(hash)
	previous := t.PreviousHash.equal(hash) && now.Before(t.PreviousUntil)
	expired := t.ExpiresAt != nil && !now.Before(*t.ExpiresAt)
	return (current || previous) && !expired
}
