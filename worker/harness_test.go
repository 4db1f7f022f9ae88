package worker_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/worker"
	"pnyx/worker/fill"
)

func TestMain(m *testing.M) { env.Main(m) }

const (
	// soon bounds every step of these tests. Nothing waits for it when all is well.
	soon = time.Minute
	// leaseTTL is the lease of leaders: three quarters of it without a renewal ends their term, which
	// must not happen because the machine is busy.
	leaseTTL = 2 * soon
)

// harness is a warehouse database and a Redis for one test.
type harness struct {
	t         *testing.T
	warehouse *warehouse.Warehouse
	store     *cache.Store
	redis     redis.UniversalClient
	metrics   *prometheus.Registry
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	return newHarnessOn(t, env.EmbeddedRedis(t))
}

// newWorker is newHarness with a leader and a filler that run.
func newWorker(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t)
	h.startLeader(h.metrics)
	h.startFiller()
	return h
}

// newHarnessOn is newHarness with a Redis that runs already.
func newHarnessOn(t *testing.T, redisURL string) *harness {
	t.Helper()
	store := env.Store(t, redisURL)
	return &harness{
		t: t, warehouse: env.Warehouse(t), store: store, redis: env.RedisClient(t, redisURL), metrics: prometheus.NewRegistry(),
	}
}

// startLeader runs the leader of a worker, and returns how to stop it.
func (h *harness) startLeader(metrics prometheus.Registerer) (stop func()) {
	publisher := worker.NewLeader(worker.Options{
		Warehouse: h.warehouse, Store: h.store, PublishInterval: 50 * time.Millisecond, LeaseTTL: leaseTTL,
		Logger: slog.New(slog.DiscardHandler), Metrics: metrics,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		publisher.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	h.t.Cleanup(stop)
	return stop
}

// append writes each record as a batch of its own.
func (h *harness) append(all ...record.Record) {
	h.t.Helper()
	run := records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
	for _, r := range all {
		if _, err := records.Append(h.t.Context(), h.warehouse, run, []record.Record{r}); err != nil {
			h.t.Fatal(err)
		}
	}
}

// appendBatch writes records as one batch.
func (h *harness) appendBatch(all ...record.Record) {
	h.t.Helper()
	run := records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
	if _, err := records.Append(h.t.Context(), h.warehouse, run, all); err != nil {
		h.t.Fatal(err)
	}
}

// waitForPublication waits until a publication is complete: vote summaries show earlier.
func (h *harness) waitForPublication() (published cache.PublicationState) {
	h.t.Helper()
	env.Until(h.t, func() (err error) {
		published, err = h.store.PublicationState(h.t.Context())
		return err
	})
	return published
}

func (h *harness) summary(key governance.ProposalKey) (governance.VoteSummary, cache.View, error) {
	var summary governance.VoteSummary
	view, err := h.store.View(h.t.Context(), cache.VoteSummaryKey(key))
	if err == nil {
		err = view.Decode(&summary)
	}
	return summary, view, err
}

// waitForVotes waits until a proposal's summary states a number of votes.
func (h *harness) waitForVotes(key governance.ProposalKey, want governance.Decimal) cache.View {
	h.t.Helper()
	var found cache.View
	env.Until(h.t, func() error {
		summary, view, err := h.summary(key)
		if err != nil {
			return err
		}
		if summary.Totals == nil || summary.Totals.Votes == nil || *summary.Totals.Votes != want {
			return fmt.Errorf("got totals %+v, want %s votes", summary.Totals, want)
		}
		found = view
		return nil
	})
	return found
}

func (h *harness) dao() (detail governance.DAODetail, err error) {
	view, err := h.store.View(h.t.Context(), cache.DAODetailKey("dao.eth"))
	if err == nil {
		err = view.Decode(&detail)
	}
	return detail, err
}

// proposal returns a proposal of dao.eth without times.
func proposal(id string) *record.Proposal {
	return &record.Proposal{
		ProposalRef: record.ProposalRef{Provider: governance.Snapshot, ExternalID: id}, SourceID: "dao.eth",
		Title: id, VoteType: governance.SingleChoice, Choices: []string{"For", "Against"},
	}
}

// vote returns an undated ballot for the first choice.
func vote(proposalID, voter, power string) *record.Ballot {
	return &record.Ballot{
		Proposal: record.ProposalRef{Provider: governance.Snapshot, ExternalID: proposalID},
		VoteID:   "v" + voter, Voter: voter, Power: decimal.RequireFromString(power),
		Choices: []string{"1"}, ChoiceKey: "1", RawChoice: "1",
	}
}

func keyOf(dao, proposalID string) governance.ProposalKey {
	return governance.Identity{DAOID: dao, Provider: governance.Snapshot, ExternalID: proposalID}.ProposalKey()
}

// startFiller runs a filler until the end of the test.
func (h *harness) startFiller() {
	filler := fill.New(fill.Options{
		Warehouse: h.warehouse, Store: h.store, Timeout: soon,
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		filler.Run(ctx)
	}()
	h.t.Cleanup(func() {
		cancel()
		<-done
	})
}

func counterValue(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
