package warehouse

import (
	"context"
	"fmt"

	"pnyx/warehouse/record"
)

func ballotTable() table {
	return table{
		kind: record.KindBallot,
		keys: []column{{"proposal_ref", "FixedString(16)"}, {"voter", "String"}, {"vote_id", "String"}},
		columns: []string{
			"provider", "external_id", "power", "power_rounded", "choices", "shares",
			"roots", "choice_key", "raw_choice", "voted_at", "voted_day_only", "tx_hash", "reason",
		},
		values: func(into []any, r record.Record) ([]any, error) {
			b, err := recordAs[*record.Ballot](r)
			if err != nil {
				return nil, err
			}
			// Pointers spare a copy on the heap each; low cardinality takes none.
			return append(into,
				string(b.Proposal.Provider), &b.Proposal.ExternalID, &b.Power, b.PowerRounded,
				nonNilTexts(b.Choices), nonNilDecimals(b.Shares), nonNilDecimals(b.Roots), b.ChoiceKey, &b.RawChoice,
				timeOrNull(b.VotedAt), b.VotedDayOnly, &b.TxHash, &b.Reason,
			), nil
		},
	}
}

// WaitingBallots counts the casts whose proposal is not held (yet): they count
// from the moment it arrives.
func (w *Warehouse) WaitingBallots(ctx context.Context) (uint64, error) {
	var waiting uint64
	if err := w.conn.QueryRow(ctx, sqlText("ballot_waiting")).Scan(&waiting); err != nil {
		return 0, fmt.Errorf("count waiting ballots: %w", err)
	}
	return waiting, nil
}
