package warehouse

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"pnyx/warehouse/record"
)

// markRecasts notes in which tallies a voter has more than one cast. Most
// proposals are told apart by a count that reads next to nothing.
func (w *Warehouse) markRecasts(ctx context.Context, tallies map[record.RefHash]VoteTotals) error {
	casts, err := w.Casts(ctx, slices.Collect(maps.Keys(tallies)))
	if err != nil {
		return err
	}
	var suspects []record.RefHash
	for ref, tally := range tallies {
		if casts[ref] > tally.Votes {
			suspects = append(suspects, ref)
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	rows, err := w.queryRefs(ctx, sqlText("ballot_recasts"), suspects)
	if err != nil {
		return fmt.Errorf("look for recasts on %d proposals: %w", len(suspects), err)
	}
	defer rows.Close()
	for rows.Next() {
		var ref string
		if err := rows.Scan(&ref); err != nil {
			return fmt.Errorf("look for recasts: %w", err)
		}
		hash := record.RefHash([]byte(ref))
		tally := tallies[hash]
		tally.Recast = true
		tallies[hash] = tally
	}
	return rows.Err()
}

// Casts counts the ballots held of proposals, recasts included. It reads next to
// nothing, and may count one that is held in two versions twice.
func (w *Warehouse) Casts(ctx context.Context, refs []record.RefHash) (map[record.RefHash]uint64, error) {
	rows, err := w.queryRefs(ctx, sqlText("ballot_casts"), refs)
	if err != nil {
		return nil, fmt.Errorf("count the casts on %d proposals: %w", len(refs), err)
	}
	defer rows.Close()
	casts := map[record.RefHash]uint64{}
	for rows.Next() {
		var ref string
		var n uint64
		if err := rows.Scan(&ref, &n); err != nil {
			return nil, fmt.Errorf("count casts: %w", err)
		}
		casts[record.RefHash([]byte(ref))] = n
	}
	return casts, rows.Err()
}
