package counts

import (
	"context"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// Correction is one change of a published result.
type Correction struct {
	governance.Correction
	Ref record.RefHash `ch:"-"` // Corrections does not set it
	// FromRevision is the revision of the publication that was corrected, Revision of the one that corrected it.
	FromRevision, Revision uint64
}

// WriteCorrections writes corrections. One of the same field of the same publication is replaced.
func WriteCorrections(ctx context.Context, w *warehouse.Warehouse, corrections []Correction) error {
	return warehouse.InsertRows(ctx, w, sqlText("correction_insert"), "write corrections",
		warehouse.Values(corrections, func(c Correction) []any {
			return []any{string(c.Ref[:]), c.FromRevision, c.Field, c.From, c.To, string(c.Reason), c.At.Time(), c.Revision}
		}))
}

// Corrections returns the newest corrections of each proposal, at most 100, newest first.
func Corrections(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash][]Correction, error) {
	return warehouse.FindGroups[record.RefHash, Correction](ctx, w, "read corrections", sqlText("correction_by_ref"),
		warehouse.RefTable(refs))
}
