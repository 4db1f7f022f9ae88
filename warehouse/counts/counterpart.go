package counts

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// Counterparts returns, for each proposal that has one, the same proposal at another
// provider: one of the two links the page of the other. It considers the pairs that
// include one of refs, or all pairs when refs is nil. Pairs appear in both directions.
func Counterparts(
	ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash,
) (map[record.RefHash][]record.RefHash, error) {
	counterparts := map[record.RefHash][]record.RefHash{}
	if refs != nil {
		// Nearly always none is linked, and this query takes a fraction of the time that finding pairs takes.
		linked, err := warehouse.FindOne[bool](ctx, w, "find links of proposals", sqlText("counterpart_any"),
			warehouse.RefTable(refs))
		if err != nil || !linked {
			return counterparts, err
		}
	}
	type pair struct{ Linking, Linked record.RefHash }
	pairs, err := warehouse.Find[pair](ctx, w, "find counterparts of proposals", sqlText("counterpart"),
		warehouse.RefTable(refs), clickhouse.Named("every", refs == nil))
	for _, p := range pairs {
		counterparts[p.Linking] = append(counterparts[p.Linking], p.Linked)
		counterparts[p.Linked] = append(counterparts[p.Linked], p.Linking)
	}
	return counterparts, err
}
