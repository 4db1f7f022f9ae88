package records

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// MarkSynced records that an import read all records of one kind of the sources, or lacks some of those
// that one has read before, and commits a batch that names the sources, so that the publisher updates them.
func MarkSynced(ctx context.Context, w *warehouse.Warehouse, run Import, kind record.Kind, sources []record.SourceRef, lacks bool) error {
	firstEnded, err := firstEnded(ctx, w, kind, sources)
	if err != nil {
		return err
	}
	if lacks {
		sources = slices.Collect(maps.Keys(firstEnded))
	}
	if len(sources) == 0 {
		return nil
	}
	b := batch{id: uuid.New(), run: run, changes: NewChangeSet()}
	for _, source := range sources {
		b.changes.Sources[source] = true
	}
	now := time.Now()
	err = warehouse.InsertRows(ctx, w, "INSERT INTO syncs (provider, source_id, kind, synced_at, as_of, first_ended_at, import_id, lacks)",
		fmt.Sprintf("mark %s synced", kind), sources, func(insert driver.Batch, source record.SourceRef) error {
			ended, repeated := firstEnded[source]
			if !repeated {
				ended = now
			}
			return insert.Append(
				string(source.Provider), source.ID, string(kind), run.ObservedAt, warehouse.TimeOrNull(run.AsOf), ended, run.ID, lacks)
		})
	if err != nil {
		return err
	}
	return commitBatch(ctx, w, b)
}

// firstEnded returns when the first import ended that read all records of one kind of the
// sources that have one.
func firstEnded(
	ctx context.Context, w *warehouse.Warehouse, kind record.Kind, sources []record.SourceRef,
) (map[record.SourceRef]time.Time, error) {
	type row struct {
		Provider governance.Provider
		SourceID string
		EndedAt  time.Time
	}
	providers, ids := splitRefs(sources)
	rows, err := warehouse.Find[row](ctx, w, "read when first imports ended", sqlText("sync_first_ended"), clickhouse.Named("kind", string(kind)),
		clickhouse.Named("providers", providers), clickhouse.Named("ids", ids))
	return warehouse.Keyed(rows, err, func(r row) (record.SourceRef, time.Time) {
		return record.SourceRef{Provider: r.Provider, ID: r.SourceID}, r.EndedAt
	})
}
