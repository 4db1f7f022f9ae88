package access_test

import (
	"testing"

	"pnyx/access"
)

// BenchmarkParseToken checks the form of a token, and BenchmarkVerifierOf makes what
// it is known by.
func BenchmarkParseToken(b *testing.B) {
	token := access.GenerateToken(access.NewTokenID())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := access.ParseToken(token); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerifierOf hashes a token.
func BenchmarkVerifierOf(b *testing.B) {
	token := access.GenerateToken(access.NewTokenID())
	b.ReportAllocs()
	for b.Loop() {
		access.HashToken(token)
	}
}
