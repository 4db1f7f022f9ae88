package counts

import (
	"context"
	"fmt"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// Rankings returns the ballots of the proposals in groups, one for each list of choices. Proposals without ballots are missing.
func Rankings(
	ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash,
) (map[record.RefHash][]governance.Ranking, error) {
	if len(refs) == 0 {
		return map[record.RefHash][]governance.Ranking{}, nil
	}
	rankings, err := counted(ctx, w, "ranking", refs, findRankings)
	if err != nil {
		return nil, fmt.Errorf("read the ranked ballots of %d proposals: %w", len(refs), err)
	}
	return rankings, nil
}

// MergedRankings reads rankings from the merged table.
func MergedRankings(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash][]governance.Ranking, error) {
	return merged(ctx, w, "ranking", refs, findRankings)
}

// findRankings is countedRows for rankings.
func findRankings(ctx context.Context, w *warehouse.Warehouse, sql string, tables ...any) (
	rankings map[record.RefHash][]governance.Ranking, single map[record.RefHash]uint64, _ error,
) {
	type row struct {
		Ref     record.RefHash `ch:"proposal_ref"`
		Choices []string
		Form    governance.ChoiceForm
		Votes   uint64
		Power   decimal.Decimal
		Shares  []decimal.Decimal
		Roots   []decimal.Decimal
		Single  uint64
	}
	rows, err := warehouse.Find[row](ctx, w, "read rankings", sql, tables...)
	rankings, single = map[record.RefHash][]governance.Ranking{}, map[record.RefHash]uint64{}
	for _, r := range rows {
		ranking := governance.Ranking{Choices: r.Choices, Form: r.Form, Votes: r.Votes, Power: r.Power}
		if len(r.Shares) > 0 {
			ranking.Shares = r.Shares
		}
		if len(r.Roots) > 0 {
			ranking.Roots = r.Roots
		}
		rankings[r.Ref] = append(rankings[r.Ref], ranking)
		single[r.Ref] += r.Single
	}
	return rankings, single, err
}
