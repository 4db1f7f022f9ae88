package warehouse

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"pnyx/warehouse/record"
)

// MarkSynced notes that a source's records of one kind were read to their end,
// and lets the publisher know.
func (w *Warehouse) MarkSynced(ctx context.Context, run Import, kind record.Kind, sources []record.SourceRef) error {
	if len(sources) == 0 {
		return nil
	}
	insert, err := w.conn.PrepareBatch(ctx, "INSERT INTO syncs (provider, source_id, kind, synced_at, import_id)")
	if err != nil {
		return fmt.Errorf("mark %s synced: %w", kind, classifyError(err))
	}
	defer insert.Close()
	b := batch{id: uuid.New(), run: run, changes: NewChangeSet()}
	for _, source := range sources {
		b.changes.Sources[source] = true
		if err := insert.Append(string(source.Provider), source.ID, string(kind), run.ObservedAt, run.ID); err != nil {
			return fmt.Errorf("mark %s synced: %w", kind, classifyError(err))
		}
	}
	if err := insert.Send(); err != nil {
		return fmt.Errorf("mark %s synced: %w", kind, classifyError(err))
	}
	return w.commitBatch(ctx, b)
}
