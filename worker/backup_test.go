package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	stop := h.startLeader(h.metrics)
	env.Until(t, func() error {
		now, err := h.store.PublicationState(t.Context())
		if err == nil && (now.LastFullRevision <= before.Revision || now.Revision < now.LastFullRevision) {
			err = fmt.Errorf("got a full publication at %d, want one after %d", now.LastFullRevision, before.Revision)
		}
		return err
	})
	stop()
	full := h.waitForPublication().LastFullRevision
	h.append(vote("a", "0x2", "5"))
	h.startLeader(h.metrics)
	h.waitForVotes(keyOf("dao.eth", "a"), "2")
	if now := h.waitForPublication(); now.LastFullRevision != full {
		t.Errorf("got a full publication at %d, want none after %d", now.LastFullRevision, full)
	}
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
	metrics := prometheus.NewRegistry()
	w := worker.New(worker.Options{
		Warehouse: h.warehouse, Store: h.store, PublishInterval: soon, LeaseTTL: leaseTTL, FillTimeout: soon,
		Logger: slog.New(slog.DiscardHandler), Metrics: metrics,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	h.t.Cleanup(func() {
		cancel()
		<-done
	})
	return metrics
}
