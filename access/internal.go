package access

import "crypto/sha256"

// InternalTokens holds the tokens of internal callers: one, or two while they rotate.
type InternalTokens struct {
	verifiers []TokenHash
}

// NewInternalTokens accepts some tokens, or nobody when there are none.
func NewInternalTokens(tokens []string) InternalTokens {
	var i InternalTokens
	for _, token := range tokens {
		i.verifiers = append(i.verifiers, sha256.Sum256([]byte(token)))
	}
	return i
}

// Accepts says whether a token is one of them. It compares digests, so that its
// time tells neither a token nor its length.
func (i InternalTokens) Accepts(token string) bool {
	given, accepted := HashToken(token), false
	for _, verifier := range i.verifiers {
		if verifier.equal(given) {
			accepted = true
		}
	}
	return accepted
}
