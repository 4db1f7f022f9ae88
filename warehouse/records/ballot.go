package records

import (
	"context"
	"fmt"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// ballotTable describes the table of every ballot cast, superseded ones included.
func ballotTable() table {
	return table{
		kind: record.KindBallot,
		keys: []column{{"proposal_ref", "FixedString(16)"}, {"voter", "String"}, {"vote_id", "String"}},
		columns: []string{
			"provider", "external_id", "power", "power_rounded", "choices", "shares",
			"roots", "choice_key", "raw_choice", "voted_at", "voted_day_only", "tx_hash", "reason",
			"withdrawn",
		},
		values: valuesOf(func(into []any, b *record.Ballot) ([]any, error) {
			// A pointer avoids a heap allocation per value; LowCardinality columns accept none.
			return append(into,
				string(b.Proposal.Provider), &b.Proposal.ExternalID, &b.Power, b.PowerRounded,
				b.Choices, warehouse.NonNilDecimals(b.Shares), warehouse.NonNilDecimals(b.Roots), b.ChoiceKey, &b.RawChoice,
				(*int64)(b.VotedAt), b.VotedDayOnly, &b.TxHash, &b.Reason,
				b.Withdrawn,
			), nil
		}),
	}
}

// WaitingBallots counts the ballots whose proposal the warehouse does not have yet. They
// count towards it from the moment it arrives.
func WaitingBallots(ctx context.Context, w *warehouse.Warehouse) (uint64, error) {
	return warehouse.FindValue[uint64](ctx, w, "count waiting ballots", sqlText("ballot_waiting"))
}

// Casts counts the stored ballots of each proposal, superseded ones included; proposals
// without any are missing. It reads the primary key alone and may count a ballot with two
// stored versions twice.
func Casts(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]uint64, error) {
	return warehouse.FindBy[record.RefHash, uint64](ctx, w,
		fmt.Sprintf("count the ballots cast on %d proposals", len(refs)), sqlText("ballot_casts"), warehouse.RefTable(refs))
}
