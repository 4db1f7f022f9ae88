package access

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Scope is a right that a token carries.
type Scope string

// The scopes. A plus scope includes the standard routes.
const (
	V1Standard Scope = "v1:paid:standard"
	V1Plus     Scope = "v1:paid:plus"
	V1All      Scope = "v1:paid:*"
	V2Standard Scope = "v2:paid:standard"
	V2Plus     Scope = "v2:paid:plus"
	V2All      Scope = "v2:paid:*"
)

// Scopes returns every scope.
func Scopes() []Scope {
	return []Scope{V1Standard, V1Plus, V1All, V2Standard, V2Plus, V2All}
}

// ParseScopes parses a comma-separated list of scopes. The result is sorted, without duplicates.
func ParseScopes(text string) ([]Scope, error) {
	var scopes []Scope
	for name := range strings.SplitSeq(text, ",") {
		scope := Scope(strings.TrimSpace(name))
		if !slices.Contains(Scopes(), scope) {
			return nil, fmt.Errorf("scope %q: want a comma-separated list of %v", scope, Scopes())
		}
		scopes = append(scopes, scope)
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), nil
}

func (s Scope) includes(needed Scope) bool {
	version, tier, _ := strings.Cut(string(s), ":paid:")
	neededVersion, neededTier, _ := strings.Cut(string(needed), ":paid:")
	return version == neededVersion &&
		(tier == neededTier || tier == "*" || tier == "plus" && neededTier == "standard")
}

// Caller is the owner of a valid token.
type Caller struct {
	*Token

	// Scopes are the effective scopes: the token's own, and for tokens issued before v2 all of v2.
	Scopes []Scope
}

// HasScope reports whether the caller has a scope.
func (c *Caller) HasScope(needed Scope) bool {
	return slices.ContainsFunc(c.Scopes, func(s Scope) bool { return s.includes(needed) })
}

// EffectiveScopes adds all of v2, once it is launched, to the scopes of a v1 token issued before.
func EffectiveScopes(own []Scope, issuedAt, launchedAt, now time.Time) []Scope {
	launched := !launchedAt.IsZero() && !now.Before(launchedAt)
	ofV1 := slices.ContainsFunc(own, func(s Scope) bool { return strings.HasPrefix(string(s), "v1:") })
	if !launched || !ofV1 || !issuedAt.Before(launchedAt) || slices.Contains(own, V2All) {
		return own
	}
	return append(slices.Clone(own), V2All)
}
