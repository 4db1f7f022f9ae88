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
	"pnyx/governance/query"
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
		env.WantError(t, nil, h.store.NotifyCommitted(ctx))
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
	env.Want(t, 2, env.Must(counts.UnpublishedProposals(t.Context(), h.warehouse))(t), "before", "unpublished proposals")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := settle(ctx, func(int, int) { cancel() }); err == nil {
		t.Error("cut off: got no error, want one")
	}
	// The lease was released, and the next call finds nothing that counts as complete.
	env.MustDo(t, settle(t.Context(), nil))
	env.Want(t, 0, env.Must(counts.UnpublishedProposals(t.Context(), h.warehouse))(t), "after", "unpublished proposals")
	h.waitForVotes(keyOf("dao.eth", "a"), "1")
	h.waitForVotes(keyOf("dao.eth", "b"), "1")

	h.append(vote("a", "0x3", "4"))
	env.Want(t, 1, env.Must(counts.UnpublishedProposals(t.Context(), h.warehouse))(t), "after another ballot", "unpublished proposals")
	// A lease that another worker takes and lets expire is taken again.
	var once sync.Once
	env.MustDo(t, settle(t.Context(), func(int, int) {
		once.Do(func() {
			h.redis.Set(t.Context(), string(cache.Namespace)+"{worker}:lease", "another", 200*time.Millisecond)
		})
	}))
	h.waitForVotes(keyOf("dao.eth", "a"), "2")
}

// Each of these is followed by one publication of everything.
func TestEverythingIsPublishedAgain(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	published := h.publishOnce()
	// Nothing is restored but the record that it was: Redis still has what was published before, under a
	// later revision than anything in a backup.
	env.MustDo(t, records.RecordBackup(t.Context(), h.warehouse, records.BackupRestored, "20260101T000000Z", 1, 1))
	published = h.publishedInFull(published, nil)

	// A worker of the previous cache format led meanwhile, as after a rollback. What became due by the clock it
	// noted in the warehouse as published, so that only a publication of everything shows it here.
	const state = "pnyx:4:{worker}:publication"
	env.MustDo(t, h.redis.Set(t.Context(), state, "\x81\xacserverRunIDs\xa1x", 0).Err())
	published = h.publishedInFull(published, func() error {
		ttl, err := h.redis.TTL(t.Context(), state).Result()
		if err == nil && (ttl <= 0 || ttl > 24*time.Hour) {
			err = fmt.Errorf("got a TTL of format 4 of %s, want a day", ttl)
		}
		return err
	})

	// The clock was set back.
	published.Revision += uint64(time.Hour.Microseconds())
	h.writeState(published)
	env.MustDo(t, h.store.RequestRepublish(t.Context()))
	published = h.publishedInFull(published, nil)
	published.CommittedThrough += time.Hour.Microseconds()
	h.writeState(published)
	h.startLeader(prometheus.NewRegistry())
	h.append(vote("a", "0xlast", "5"))
	h.waitForVotes(keyOf("dao.eth", "a"), "5")
}

// A warehouse that was made anew finds what another one has published, as does one that shares Redis by mistake.
func TestWhatAnotherWarehouseHasPublishedIsReplaced(t *testing.T) {
	t.Parallel()
	redis := env.EmbeddedRedis(t)
	first, second := newHarnessOn(t, redis), newHarnessOn(t, redis)
	listed := func(h *harness) []string {
		t.Helper()
		_, err := worker.NewLeader(h.options()).Settle(t.Context())
		env.MustDo(t, err)
		return env.Must(h.store.DAOIDs(t.Context(), query.DAOs{}))(t)
	}
	first.append(proposal("a"), vote("a", "0x1", "1"))
	env.Want(t, 1, len(listed(first)), "DAOs of the first")
	env.Want(t, 0, len(listed(second)), "DAOs of the second, which is empty")
	_, err := second.store.View(t.Context(), cache.DAODetailKey("dao.eth"))
	env.WantError(t, cache.ErrMiss, err, "the first one's DAO")
	env.Want(t, 1, len(listed(first)), "DAOs of the first again")
}

func TestLastBackupIsAMetricOnceThereIsOne(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const metric = "pnyx_backup_last_success_timestamp_seconds"
	count := func(metrics *prometheus.Registry, metric string) (found int) {
		t.Helper()
		families := env.Must(metrics.Gather())(t)
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
	env.MustDo(t, records.RecordBackup(t.Context(), h.warehouse, records.BackupMade, "20260101T000000Z", 1, 1))
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
