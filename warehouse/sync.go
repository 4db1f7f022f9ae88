package warehouse

import (
	"context"
	"fmt"

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
	if err := w.writeSyncs(ctx, run, kind, sources); err != nil {
		return fmt.Errorf("mark %s synced: %w", kind, classifyError(err))
	}
	return w.commitBatch(ctx, b)
}

// writeSyncs writes one row for each source.
func (w *Warehouse) writeSyncs(ctx context.Context, run Import, kind record.Kind, sources []record.SourceRef) error {
	insert, err := w.conn.PrepareBatch(ctx, "INSERT INTO syncs (provider, source_id, kind, synced_at, import_id)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, source := range sources {
		err := insert.Append(string(source.Provider), source.ID, string(kind), run.ObservedAt, run.ID)
		if err != nil {
			return err
		}
	}
	return insert.Send()
}
