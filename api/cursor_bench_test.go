package api_test

import (
	"testing"

	"pnyx/api"
	"pnyx/governance/query"
)

// BenchmarkCursor makes the cursor of a page, and reads it as the next request does.
func BenchmarkCursor(b *testing.B) {
	cursors := api.NewCursors(cursorKey, "proposals.votes",
		api.Given{Name: "proposalKey", Kind: api.ProposalKey, Value: string(countedKey)},
		api.Given{Name: "order", Kind: api.Enum, Value: "power"})
	position := query.BallotPosition{Power: "1234567.890123456789012345", Voter: "0x00000000000000000000000000000000000000aa"}
	sealed := cursors.Seal(position)
	b.Run("seal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			cursors.Seal(position)
		}
	})
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var opened query.BallotPosition
			if err := cursors.Open(sealed, &opened); err != nil {
				b.Fatal(err)
			}
		}
	})
}
