package counts

import (
	"context"
	"fmt"

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
		Ref record.RefHash `ch:"proposal_ref"`
		governance.Ranking
		Single uint64
	}
	rows, err := warehouse.Find[row](ctx, w, "read rankings", sql, tables...)
	rankings, single = map[record.RefHash][]governance.Ranking{}, map[record.RefHash]uint64{}
	for _, r := range rows {
		if len(r.Shares) == 0 {
			r.Shares = nil
		}
		if len(r.Roots) == 0 {
			r.Roots = nil
		}
		rankings[r.Ref] = append(rankings[r.Ref], r.Ranking)
		single[r.Ref] += r.Single
	}
	return rankings, single, err
}
