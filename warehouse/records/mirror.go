package records

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// Mirror is a Governor's proposal as another provider states it. The warehouse has the
// proposal of the Governor too.
type Mirror struct {
	// Ref is the mirror, Original the proposal of the Governor.
	Ref                             record.RefHash `ch:"proposal_ref"`
	Original                        record.RefHash
	Provider                        governance.Provider
	SourceID, ExternalID, SourceURL string
	// Governor is the id of the Governor as a source.
	Governor string
	// OriginalWithdrawn is true if the proposal of the Governor was withdrawn.
	OriginalWithdrawn bool
}

// Mirrors returns the mirrors that are among refs or whose original is, or all mirrors
// when refs is nil. Withdrawn ones are left out.
func Mirrors(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) ([]Mirror, error) {
	if refs != nil { // most have none, and finding that out takes a third of the time
		found, err := warehouse.FindOne[bool](ctx, w, "find links to Governors' proposals", sqlText("mirror_any"),
			warehouse.RefTable(refs))
		if err != nil || !found {
			return nil, err
		}
	}
	return warehouse.Find[Mirror](ctx, w, "find mirrors of Governors' proposals", sqlText("mirror"),
		warehouse.RefTable(refs), clickhouse.Named("every", refs == nil))
}
