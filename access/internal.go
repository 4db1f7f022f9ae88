package access

import "crypto/sha256"

// InternalTokens holds the tokens of internal callers: one, or two during a rotation.
type InternalTokens struct {
	hashes []TokenHash
}

// NewInternalTokens returns the set of the given tokens. An empty set accepts no token.
func NewInternalTokens(tokens []string) InternalTokens {
	var i InternalTokens
	for _, token := range tokens {
		i.hashes = append(i.hashes, sha256.Sum256([]byte(token)))
	}
	return i
}

// Accepts reports whether a token is in the set. It compares hashes, so the time it takes
// reveals neither a token nor its length.
func (i InternalTokens) Accepts(token string) bool {
	given, accepted := HashToken(token), false
	for _, hash := range i.hashes {
		if hash.equal(given) {
			accepted = true
		}
	}
	return accepted
}
