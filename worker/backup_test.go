package worker_test

import (
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/test/env"
	"pnyx/warehouse/records"
	"pnyx/worker"
)

// TestRestoredWarehouseIsPublishedInFull restores nothing, but records that it was: Redis
// still has what was published before, under a later revision than anything in a backup.
func TestRestoredWarehouseIsPublishedInFull(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	before := h.publishOnce()
	if err := records.RecordBackup(t.Context(), h.warehouse, records.BackupRestored, "20260101T000000Z", 1, 1); err != nil {
		t.Fatal(err)
	}
	h.publishedInFull(before, func() error { return nil })
}

func TestLastBackupIsAMetricOnceThereIsOne(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const metric = "pnyx_backup_last_success_timestamp_seconds"
	count := func(metrics *prometheus.Registry, metric string) (found int) {
		t.Helper()
		families, err := metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() == metric {
				found += len(family.GetMetric())
			}
		}
		return found
	}
	before := h.startWorker()
	if got, scheduled := count(before, metric), count(before, "pnyx_backup_scheduled"); got != 0 || scheduled != 1 {
		t.Errorf("before a backup: got %d values and %d of whether any is scheduled, want none and 1", got, scheduled)
	}
	if err := records.RecordBackup(t.Context(), h.warehouse, records.BackupMade, "20260101T000000Z", 1, 1); err != nil {
		t.Fatal(err)
	}
	metrics := h.startWorker()
	env.Until(t, func() error {
		if count(metrics, metric) != 1 {
			return errors.New("got no value")
		}
		return nil
	})
}

// startWorker runs all parts of a worker until the end of the test.
func (h *harness) startWorker() *prometheus.Registry {
	h.t.Helper()
	o, metrics := h.options(), prometheus.NewRegistry()
	o.Metrics = metrics
	h.run(worker.New(o).Run)
	return metrics
}
