package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"pnyx/governance"
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
	firstEnded, err := w.firstEnded(ctx, kind, sources)
	if err != nil {
		return err
	}
	now := time.Now()
	err = insertRows(ctx, w, "INSERT INTO syncs (provider, source_id, kind, synced_at, as_of, first_ended_at, import_id)",
		fmt.Sprintf("mark %s synced", kind), sources, func(insert driver.Batch, source record.SourceRef) error {
			ended, repeated := firstEnded[source]
			if !repeated {
				ended = now
			}
			return insert.Append(
				string(source.Provider), source.ID, string(kind), run.ObservedAt, timeOrNull(run.AsOf), ended, run.ID)
		})
	if err != nil {
		return err
	}
	return w.commitBatch(ctx, b)
}

// firstEnded returns when the first import ended that read all records of one kind of the
// sources that have one.
func (w *Warehouse) firstEnded(
	ctx context.Context, kind record.Kind, sources []record.SourceRef,
) (map[record.SourceRef]time.Time, error) {
	type row struct {
		Provider governance.Provider
		SourceID string
		EndedAt  time.Time
	}
	providers, ids := splitRefs(sources)
	rows, err := find[row](ctx, w, "read when first imports ended", sqlText("sync_first_ended"), clickhouse.Named("kind", string(kind)),
		clickhouse.Named("providers", providers), clickhouse.Named("ids", ids))
	return keyed(rows, err, func(r row) (record.SourceRef, time.Time) {
		return record.SourceRef{Provider: r.Provider, ID: r.SourceID}, r.EndedAt
	})
}
