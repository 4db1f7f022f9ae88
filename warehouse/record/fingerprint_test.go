package record_test

import (
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/check"
	"pnyx/warehouse/record"
)

// A changed fingerprint would import every ballot again.
func TestBallotFingerprintIsStable(t *testing.T) {
	t.Parallel()

	moment := governance.Timestamp(1710679598000)
	b := record.Ballot{
		Proposal: record.ProposalRef{Provider: governance.Snapshot, ExternalID: "0x97ec"}, VoteID: "0xad59", Voter: "0xfcd0",
		Power: decimal.RequireFromString("20.000000000000000000"), Choices: []string{"1", "2"}, ChoiceKey: "1",
		Shares: []decimal.Decimal{decimal.New(15, 0), decimal.New(5, 0)}, Roots: []decimal.Decimal{decimal.New(3, 0), decimal.New(2, 0)},
		RawChoice: `{"1":3,"2":1}`, VotedAt: &moment, Reason: "why not",
	}
	check.Want(t, uint64(15777819398257492300), record.Fingerprint(&b))
}
