package governance_test

import (
	"testing"

	"pnyx/governance"
)

// BenchmarkParseProposalKey checks a key as every request about a proposal does.
func BenchmarkParseProposalKey(b *testing.B) {
	key := string(governance.Identity{DAOID: "uniswap", Provider: governance.Snapshot, ExternalID: "0x1"}.ProposalKey())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := governance.ParseProposalKey(key); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTimestampAppend writes the time that every answer carries.
func BenchmarkTimestampAppend(b *testing.B) {
	text := make([]byte, 0, 32)
	b.ReportAllocs()
	for b.Loop() {
		text = governance.Timestamp(1709210096007).Append(text[:0])
	}
}
