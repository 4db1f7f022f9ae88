package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
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
	// leaseTTL is long: that the machine is busy must not end a term.
	leaseTTL = 2 * soon
)

type harness struct {
	t         *testing.T
	url       string // of the database
	warehouse *warehouse.Warehouse
	store     *cache.Store
	redis     redis.UniversalClient
	metrics   *prometheus.Registry
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	return newHarnessOn(t, env.EmbeddedRedis(t))
}

func newWorker(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t)
	h.start()
	return h
}

func (h *harness) start() {
	h.startLeader(h.metrics)
	h.startFiller()
}

func newHarnessOn(t *testing.T, redisURL string) *harness {
	t.Helper()
	url := env.DatabaseURL(t)
	opened := env.Must(warehouse.Open(t.Context(), warehouse.Options{URL: url, QueryTimeout: soon, Logger: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { opened.Close() })
	return &harness{t, url, opened, env.Store(t, redisURL), env.RedisClient(t, redisURL), prometheus.NewRegistry()}
}

func (h *harness) options() worker.Options {
	return worker.Options{
		Warehouse: h.warehouse, Store: h.store, PublishInterval: 50 * time.Millisecond, LeaseTTL: leaseTTL, FillTimeout: soon,
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	}
}

func (h *harness) run(part func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { part(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	h.t.Cleanup(stop)
	return stop
}

func (h *harness) startLeader(metrics prometheus.Registerer) (stop func()) {
	o := h.options()
	o.Metrics = metrics
	return h.run(worker.NewLeader(o).Run)
}

func (h *harness) append(all ...record.Record) {
	h.t.Helper()
	h.appendObserved(time.Now().UTC().Truncate(time.Millisecond), all...)
}

func (h *harness) appendObserved(at time.Time, all ...record.Record) {
	h.t.Helper()
	env.Must(records.Append(h.t.Context(), h.warehouse, records.Import{ID: uuid.New(), ObservedAt: at}, all))(h.t)
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

func read[T any](h *harness, key cache.Key) (value T, view cache.View, err error) {
	h.t.Helper()
	if view, err = h.store.View(h.t.Context(), key); err == nil {
		err = view.Decode(&value)
	}
	return value, view, err
}

func waitFor[T any](h *harness, key cache.Key, right func(T) bool) (found T, view cache.View) {
	h.t.Helper()
	env.Until(h.t, func() (err error) {
		if found, view, err = read[T](h, key); err == nil && !right(found) {
			err = fmt.Errorf("got %v", env.Plain(found))
		}
		return err
	})
	return found, view
}

func (h *harness) waitForNone(keys ...cache.Key) {
	h.t.Helper()
	env.Until(h.t, func() error {
		for _, key := range keys {
			if _, err := h.store.View(h.t.Context(), key); !errors.Is(err, cache.ErrMiss) {
				return fmt.Errorf("got %[2]w for %[1]s, want a miss", key, err)
			}
		}
		return nil
	})
}

func (h *harness) summary(key governance.ProposalKey) (governance.VoteSummary, cache.View, error) {
	return read[governance.VoteSummary](h, cache.VoteSummaryKey(key))
}

func (h *harness) waitForVotes(key governance.ProposalKey, want governance.Decimal) cache.View {
	h.t.Helper()
	_, view := waitFor(h, cache.VoteSummaryKey(key), func(s governance.VoteSummary) bool {
		return s.Totals != nil && s.Totals.Votes != nil && *s.Totals.Votes == want
	})
	return view
}

func (h *harness) dao() (governance.DAODetail, error) {
	detail, _, err := read[governance.DAODetail](h, cache.DAODetailKey("dao.eth"))
	return detail, err
}

func (h *harness) version(scope query.Scope) uint64 {
	h.t.Helper()
	found, err := h.store.Version(h.t.Context(), scope)
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		h.t.Fatal(err)
	}
	return found.Revision
}

func proposal(id string) *record.Proposal {
	return &record.Proposal{
		ProposalRef: record.ProposalRef{Provider: governance.Snapshot, ExternalID: id}, SourceID: "dao.eth",
		Title: id, VoteType: governance.SingleChoice, Choices: []string{"For", "Against"},
	}
}

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

func (h *harness) startFiller() {
	h.run(fill.New(fill.Options{
		Warehouse: h.warehouse, Store: h.store, Timeout: soon, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	}).Run)
}
