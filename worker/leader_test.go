package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/test/env"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/records"
	"pnyx/worker"
)

// A leader that would check for batches once in an hour publishes what it is told of.
func TestLeaderPublishesWhatItIsToldOf(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.warehouse.OnCommit(func(ctx context.Context) {
		if err := h.store.NotifyCommitted(ctx); err != nil {
			t.Error(err)
		}
	})
	o := h.options()
	o.PublishInterval = time.Hour
	h.run(worker.NewLeader(o).Run)
	h.waitForPublication()
	h.append(proposal("a"), vote("a", "0x1", "1"))
	h.waitForVotes(keyOf("dao.eth", "a"), "1")
	h.append(vote("a", "0x2", "2"))
	h.waitForVotes(keyOf("dao.eth", "a"), "2")
}

func TestSettleCompletesWhatWasCutOff(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(proposal("a"), vote("a", "0x1", "1"), proposal("b"), vote("b", "0x2", "2"))
	settle := func(ctx context.Context, progress func(int, int)) error {
		o := h.options()
		o.Progress = progress
		_, err := worker.NewLeader(o).Settle(ctx)
		return err
	}
	if n, err := counts.UnpublishedProposals(t.Context(), h.warehouse); err != nil || n != 2 {
		t.Errorf("before: got %d unpublished proposals, %v, want 2", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := settle(ctx, func(int, int) { cancel() }); err == nil {
		t.Error("cut off: got no error, want one")
	}
	// The lease was released, and the next call finds nothing that counts as complete.
	if err := settle(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if n, err := counts.UnpublishedProposals(t.Context(), h.warehouse); err != nil || n != 0 {
		t.Errorf("after: got %d unpublished proposals, %v, want 0", n, err)
	}
	h.waitForVotes(keyOf("dao.eth", "a"), "1")
	h.waitForVotes(keyOf("dao.eth", "b"), "1")

	h.append(vote("a", "0x3", "4"))
	if n, err := counts.UnpublishedProposals(t.Context(), h.warehouse); err != nil || n != 1 {
		t.Errorf("after another ballot: got %d unpublished proposals, %v, want 1", n, err)
	}
	// A lease that another worker takes and lets expire is taken again.
	var once sync.Once
	if err := settle(t.Context(), func(int, int) {
		once.Do(func() {
			h.redis.Set(t.Context(), string(cache.Namespace)+"{worker}:lease", "another", 200*time.Millisecond)
		})
	}); err != nil {
		t.Fatal(err)
	}
	h.waitForVotes(keyOf("dao.eth", "a"), "2")
}

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

// TestWhatThePreviousFormatPublishedIsPublishedAgain lets a worker of the previous cache
// format lead meanwhile, as after a rollback. What became due by the clock it noted in the
// warehouse as published, so that only a publication of everything shows it here.
func TestWhatThePreviousFormatPublishedIsPublishedAgain(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	before := h.publishOnce()
	const state = "pnyx:4:{worker}:publication"
	if err := h.redis.Set(t.Context(), state, "\x81\xacserverRunIDs\xa1x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	h.publishedInFull(before, func() error {
		ttl, err := h.redis.TTL(t.Context(), state).Result()
		if err == nil && (ttl <= 0 || ttl > 24*time.Hour) {
			err = fmt.Errorf("got a TTL of format 4 of %s, want a day", ttl)
		}
		return err
	})
}
