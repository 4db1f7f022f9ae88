package access

// InternalTokens holds the tokens of internal callers: one, or two during a rotation.
type InternalTokens []TokenHash

// NewInternalTokens returns the set of the given tokens. An empty set accepts no token.
func NewInternalTokens(tokens []string) (set InternalTokens) {
	for _, token := range tokens {
		set = append(set, HashToken(token))
	}
	return set
}

// Accepts reports whether a token is in the set. The time it takes reveals neither a token nor its length.
func (i InternalTokens) Accepts(token string) bool {
	given, accepted := HashToken(token), false
	for _, hash := range i {
		accepted = hash.equal(given) || accepted
	}
	return accepted
}
