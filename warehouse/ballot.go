package warehouse

import (
	"context"
	"fmt"

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
				b.Choices, nonNilDecimals(b.Shares), nonNilDecimals(b.Roots), b.ChoiceKey, &b.RawChoice,
				(*int64)(b.VotedAt), b.VotedDayOnly, &b.TxHash, &b.Reason,
				b.Withdrawn,
			), nil
		}),
	}
}

// WaitingBallots counts the ballots whose proposal the warehouse does not have yet. They
// count towards it from the moment it arrives.
func (w *Warehouse) WaitingBallots(ctx context.Context) (uint64, error) {
	return findValue[uint64](ctx, w, "count waiting ballots", sqlText("ballot_waiting"))
}

// Casts counts the stored ballots of each proposal, superseded ones included; proposals
// without any are missing. It reads the primary key alone and may count a ballot with two
// stored versions twice.
func (w *Warehouse) Casts(ctx context.Context, refs []record.RefHash) (map[record.RefHash]uint64, error) {
	type row struct {
		Ref   record.RefHash `ch:"proposal_ref"`
		Casts uint64
	}
	rows, err := findRefs[row](ctx, w, fmt.Sprintf("count the ballots cast on %d proposals", len(refs)), sqlText("ballot_casts"), refs)
	return keyed(rows, err, func(r row) (record.RefHash, uint64) { return r.Ref, r.Casts })
}
