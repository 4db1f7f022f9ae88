package worker

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/backoff"
	"pnyx/telemetry"
	"pnyx/warehouse"
	"pnyx/warehouse/records"
)

// backupWatch exports when the warehouse was last backed up.
type backupWatch struct {
	warehouse *warehouse.Warehouse
	logger    *slog.Logger
	last      *prometheus.GaugeVec
}

func newBackupWatch(o Options) *backupWatch {
	scheduled := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "pnyx_backup_scheduled",
		Help: "1 where PNYX_BACKUP_SCHEDULED says that backups are made on a schedule, else 0.",
	})
	if o.BackupScheduled {
		scheduled.Set(1)
	}
	telemetry.Register(o.Metrics, scheduled)
	// A vector without labels has no value until the first backup.
	last := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "pnyx_backup_last_success_timestamp_seconds",
		Help: "When the last backup of the warehouse was complete; missing before the first.",
	}, nil)
	return &backupWatch{o.Warehouse, o.Logger, telemetry.Register(o.Metrics, last)}
}

// run exports until ctx ends.
func (b *backupWatch) run(ctx context.Context) {
	const backupInterval = 5 * time.Minute // the time between two looks for a new backup
	for ctx.Err() == nil {
		at, err := records.LastBackup(ctx, b.warehouse, records.BackupMade)
		switch {
		case err != nil && ctx.Err() == nil:
			b.logger.LogAttrs(ctx, slog.LevelWarn, "time of the last backup not read, retrying", slog.Any("error", err))
		case err == nil && !at.IsZero():
			b.last.WithLabelValues().Set(float64(at.UnixMicro()) / 1e6)
		}
		backoff.Wait(ctx, backupInterval)
	}
}
