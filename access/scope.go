package access

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Scope is a right that a token carries.
type Scope string

// The scopes. A plus scope opens the standard routes too.
const (
	V1Standard Scope = "v1:paid:standard"
	V1Plus     Scope = "v1:paid:plus"
	V1All      Scope = "v1:paid:*"
	V2Standard Scope = "v2:paid:standard"
	V2Plus     Scope = "v2:paid:plus"
	V2All      Scope = "v2:paid:*"
)

// Scopes lists every scope.
func Scopes() []Scope {
	return []Scope{V1Standard, V1Plus, V1All, V2Standard, V2Plus, V2All}
}

// ParseScopes reads scopes that are joined by commas.
func ParseScopes(text string) ([]Scope, error) {
	var scopes []Scope
	for name := range strings.SplitSeq(text, ",") {
		scope := Scope(strings.TrimSpace(name))
		if !slices.Contains(Scopes(), scope) {
			return nil, fmt.Errorf("no scope is called %q: want some of %v, joined by commas", scope, Scopes())
		}
		scopes = append(scopes, scope)
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), nil
}

// opens says whether a scope gives the right that another names.
func (s Scope) opens(needed Scope) bool {
	version, tier, _ := strings.Cut(string(s), ":paid:")
	neededVersion, neededTier, _ := strings.Cut(string(needed), ":paid:")
	return version == neededVersion && (tier == neededTier || tier == "*" || tier == "plus" && neededTier == "standard")
}

// Caller is somebody with a valid token.
type Caller struct {
	*Token

	// Scopes are those in force: of the record, and v2's for tokens from before it.
	Scopes []Scope
}

// HasScope says whether the caller has a right.
func (c *Caller) HasScope(needed Scope) bool {
	return slices.ContainsFunc(c.Scopes, func(s Scope) bool { return s.opens(needed) })
}

// scopesInForce adds all of v2 to a token of v1 that was issued before v2 was
// launched, once it is.
func scopesInForce(r *Token, launchedAt, now time.Time) []Scope {
	launched := !launchedAt.IsZero() && !now.Before(launchedAt)
	ofV1 := slices.ContainsFunc(r.Scopes, func(s Scope) bool { return strings.HasPrefix(string(s), "v1:") })
	if !launched || !ofV1 || !r.CreatedAt.Before(launchedAt) || slices.Contains(r.Scopes, V2All) {
		return r.Scopes
	}
	return append(slices.Clone(r.Scopes), V2All)
}
