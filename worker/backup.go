package worker

import (
	"context"
	"log/slog"
	"time"

	"pnyx/backoff"
	"pnyx/telemetry"
	"pnyx/warehouse/records"
)

// backupWatch returns what exports when the warehouse was last backed up, until its context ends.
func backupWatch(o Options) func(ctx context.Context) {
	scheduled := telemetry.Gauge(o.Metrics, "pnyx_backup_scheduled",
		"1 where PNYX_BACKUP_SCHEDULED says that backups are made on a schedule, else 0.")
	if o.BackupScheduled {
		scheduled.Set(1)
	}
	// A vector without labels has no value until the first backup.
	last := telemetry.Gauges(o.Metrics, "pnyx_backup_last_success_timestamp_seconds",
		"When the last backup of the warehouse was complete; missing before the first.")
	const backupInterval = 5 * time.Minute // the time between two looks for a new backup
	return func(ctx context.Context) {
		for ctx.Err() == nil {
			at, err := records.LastBackup(ctx, o.Warehouse, records.BackupMade)
			switch {
			case err != nil && ctx.Err() == nil:
				o.Logger.LogAttrs(ctx, slog.LevelWarn, "time of the last backup not read, retrying", slog.Any("error", err))
			case err == nil && !at.IsZero():
				last.WithLabelValues().Set(float64(at.UnixMicro()) / 1e6)
			}
			backoff.Wait(ctx, backupInterval)
		}
	}
}
