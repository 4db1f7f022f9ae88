package records

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// MarkSynced records that an import read all records of one kind of the sources, as of when it states, or lacks
// some of those that one has read before, and commits a batch that names the sources, so that the publisher updates them.
func MarkSynced(ctx context.Context, w *warehouse.Warehouse, run Import, kind record.Kind, sources []record.SourceRef, lacks bool) error {
	synced, err := findSyncs(ctx, w, kind, sources)
	if err != nil {
		return err
	}
	if lacks {
		sources = slices.Collect(maps.Keys(synced))
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
		fmt.Sprintf("mark %s synced", kind), warehouse.Values(sources, func(source record.SourceRef) []any {
			state, repeated := synced[source]
			if !repeated {
				state.EndedAt = now
			}
			if !lacks {
				state.AsOf = run.AsOf
			}
			return []any{
				string(source.Provider), source.ID, string(kind), run.ObservedAt, warehouse.TimeOrNull(state.AsOf), state.EndedAt, run.ID, lacks,
			}
		}))
	if err != nil {
		return err
	}
	return commitBatch(ctx, w, b)
}

// storedSync is when the first import ended that read all records of one kind of a source, and as of when the last one did.
type storedSync struct {
	EndedAt time.Time
	AsOf    *governance.Timestamp
}

// findSyncs returns the syncs of one kind of the sources that have one.
func findSyncs(
	ctx context.Context, w *warehouse.Warehouse, kind record.Kind, sources []record.SourceRef,
) (map[record.SourceRef]storedSync, error) {
	providers, ids := splitRefs(sources)
	return warehouse.FindBy[record.SourceRef, storedSync](ctx, w, "read when first imports ended",
		sqlText("sync_first_ended"),
		clickhouse.Named("kind", string(kind)), clickhouse.Named("providers", providers), clickhouse.Named("ids", ids))
}
