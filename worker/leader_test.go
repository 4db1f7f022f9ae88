package worker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/governance"
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
	before := h.startWorker()
	if got, scheduled := len(env.Counts(t, before, metric)), len(env.Counts(t, before, "pnyx_backup_scheduled")); got != 0 || scheduled != 1 {
		t.Errorf("before a backup: got %d values and %d of whether any is scheduled, want none and 1", got, scheduled)
	}
	env.MustDo(t, records.RecordBackup(t.Context(), h.warehouse, records.BackupMade, "20260101T000000Z", 1, 1))
	metrics := h.startWorker()
	env.Until(t, func() error {
		if len(env.Counts(t, metrics, metric)) != 1 {
			return errors.New("got no value")
		}
		return nil
	})
}

func (h *harness) startWorker() *prometheus.Registry {
	h.t.Helper()
	o, metrics := h.options(), prometheus.NewRegistry()
	o.Metrics = metrics
	h.run(worker.New(o).Run)
	return metrics
}

// forgedRevision is the largest revision that a value has room for.
const forgedRevision = 9999999999999999

func TestAttackForgedViewIsReplacedByAFullPublication(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.publishOnce()
	a := keyOf("dao.eth", "a")
	forged := env.Must(cache.NewView(cache.View{Readiness: governance.Ready}, governance.VoteSummary{
		Totals: &governance.VoteTotals{Votes: new(governance.Decimal("999")), UniqueVoters: new(governance.Decimal("999")), VotingPower: "999"},
	}))(t)
	writer := h.store.NewWriter(forgedRevision)
	writer.SetView(t.Context(), cache.VoteSummaryKey(a), forged)
	env.MustDo(t, writer.Flush(t.Context()))
	env.MustDo(t, h.store.RequestRepublish(t.Context()))
	h.startLeader(prometheus.NewRegistry())
	h.waitForVotes(a, "1")
}

func TestAttackForgedPublicationStateIsReplaced(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	published := h.publishOnce()
	forged := published
	forged.Revision, forged.LastFullRevision = forgedRevision, forgedRevision
	h.writeState(forged)
	h.publishedInFull(published, func() error {
		now, err := h.store.PublicationState(t.Context())
		if latest := uint64(time.Now().Add(cache.MaxRevisionLead).UnixMicro()); err == nil && (now.Revision > latest || now.LastFullRevision != now.Revision) {
			err = fmt.Errorf("got revision %d, full at %d, want a full one", now.Revision, now.LastFullRevision)
		}
		return err
	})
}

func TestAttackForgedTokensAreReplaced(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.startAccounts()
	tokens := h.startTokenCache()
	_, honest := h.putToken("honest")
	env.Until(h.t, h.authenticates(tokens, honest, nil))

	id := access.NewTokenID()
	stolen := access.GenerateToken(id)
	forged := env.Must(msgpack.Marshal([]access.Token{{ID: id, Hash: access.HashToken(stolen)}}))(t)
	env.MustDo(t, accounts.New(h.store).SetTokens(t.Context(), forgedRevision, forged))
	env.Until(h.t, func() error {
		revision, published, err := accounts.New(h.store).Tokens(t.Context())
		if err == nil && (revision >= forgedRevision || bytes.Equal(published, forged)) {
			err = fmt.Errorf("got tokens of revision %d, want the warehouse's", revision)
		}
		return err
	})
	_, later := h.putToken("later") // published after the forged ones
	env.Until(h.t, h.authenticates(tokens, later, nil))
	for raw, want := range map[string]error{honest: nil, stolen: access.ErrUnauthorized} {
		env.WantError(t, nil, h.authenticates(tokens, raw, want)())
	}
}
