package warehouse

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"pnyx/warehouse/record"
)

// MarkSynced records that an import read all records of one kind of the sources, and
// commits a batch that names the sources, so that the publisher updates them.
func (w *Warehouse) MarkSynced(ctx context.Context, run Import, kind record.Kind, sources []record.SourceRef) error {
	if len(sources) == 0 {
		return nil
	}
	b := batch{id: uuid.New(), run: run, changes: NewChangeSet()}
	for _, source := range sources {
		b.changes.Sources[source] = true
	}
	err := insertRows(ctx, w, "INSERT INTO syncs (provider, source_id, kind, synced_at, as_of, import_id)", fmt.Sprintf("mark %s synced", kind),
		sources, func(insert driver.Batch, source record.SourceRef) error {
			return insert.Append(string(source.Provider), source.ID, string(kind), run.ObservedAt, timeOrNull(run.AsOf), run.ID)
		})
	if err != nil {
		return err
	}
	return w.commitBatch(ctx, b)
}
