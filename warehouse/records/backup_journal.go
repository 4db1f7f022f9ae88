package records

import (
	"context"
	"time"

	"pnyx/warehouse"
)

// Kinds of entries of RecordBackup: a backup that was completed, and a restore of this warehouse.
const (
	BackupMade     = "backup"
	BackupRestored = "restore"
)

// RecordBackup records that a backup was made or restored.
func RecordBackup(ctx context.Context, w *warehouse.Warehouse, kind, name string, rows, bytes uint64) error {
	return warehouse.InsertRows(ctx, w, "INSERT INTO backups (kind, name, row_count, bytes)", "record "+kind,
		[][]any{{kind, name, rows, bytes}})
}

// LastBackup returns when an entry of a kind was last recorded; the zero time for never.
func LastBackup(ctx context.Context, w *warehouse.Warehouse, kind string) (time.Time, error) {
	last, err := warehouse.FindValue[time.Time](ctx, w, "read the last "+kind, "SELECT max(finished_at) FROM backups WHERE kind = ?", kind)
	if last.UnixMicro() == 0 { // of no rows
		return time.Time{}, err
	}
	return last, err
}

// LastRestore names the last restore of the warehouse from a backup; empty for none.
func LastRestore(ctx context.Context, w *warehouse.Warehouse) (string, error) {
	at, err := LastBackup(ctx, w, BackupRestored)
	if err != nil || at.IsZero() {
		return "", err
	}
	return at.Format(time.RFC3339Nano), nil
}
