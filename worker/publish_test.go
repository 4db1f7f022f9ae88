package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/worker"
)

// house is a warehouse and a Redis of a test's own.
type house struct {
	t         *testing.T
	warehouse *warehouse.Warehouse
	store     *cache.Store
	redis     redis.UniversalClient
	metrics   *prometheus.Registry
}

func newHouse(t *testing.T) *house {
	t.Helper()
	return newHouseOn(t, env.EmbeddedRedis(t))
}

// newHouseOn is newHouse with a Redis that is there.
func newHouseOn(t *testing.T, redisURL string) *house {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the engine, which -short leaves out")
	}
	instance := env.SharedEngine(t)
	opened, err := warehouse.Open(t.Context(), warehouse.Options{
		URL:          instance.URL(env.EngineDatabase(t, instance)),
		QueryTimeout: 30 * time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	store, err := cache.Open(redisURL, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return &house{
		t: t, warehouse: opened, store: store, redis: env.RedisClient(t, redisURL), metrics: prometheus.NewRegistry(),
	}
}

// work runs a worker and returns how to end it.
func (h *house) work(metrics prometheus.Registerer) (stop func()) {
	publisher := worker.NewLeader(worker.Options{
		Warehouse: h.warehouse, Store: h.store, PublishInterval: 50 * time.Millisecond, LeaseTTL: 5 * time.Second,
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

func (h *house) append(records ...record.Record) {
	h.t.Helper()
	run := warehouse.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
	for _, r := range records {
		if _, err := h.warehouse.Append(h.t.Context(), run, []record.Record{r}); err != nil {
			h.t.Fatal(err)
		}
	}
}

// appendTogether is append as one batch.
func (h *house) appendTogether(records ...record.Record) {
	h.t.Helper()
	run := warehouse.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
	if _, err := h.warehouse.Append(h.t.Context(), run, records); err != nil {
		h.t.Fatal(err)
	}
}

// published waits until a publication is complete: what is voted on shows before.
func (h *house) published() (published cache.PublicationState) {
	h.t.Helper()
	env.Until(h.t, func() (err error) {
		published, err = h.store.PublicationState(h.t.Context())
		return err
	})
	return published
}

func (h *house) summary(key governance.ProposalKey) (governance.VoteSummary, cache.View, error) {
	var summary governance.VoteSummary
	view, err := h.store.View(h.t.Context(), cache.VoteSummaryKey(key))
	if err == nil {
		err = view.Decode(&summary)
	}
	return summary, view, err
}

// hasVotes waits until a proposal's summary says so many votes.
func (h *house) hasVotes(key governance.ProposalKey, want governance.Decimal) cache.View {
	h.t.Helper()
	var found cache.View
	env.Until(h.t, func() error {
		summary, view, err := h.summary(key)
		if err != nil {
			return err
		}
		if summary.Totals == nil || summary.Totals.Votes != want {
			return fmt.Errorf("got totals %+v, want %s votes", summary.Totals, want)
		}
		found = view
		return nil
	})
	return found
}

func (h *house) dao() (detail governance.DAODetail, err error) {
	view, err := h.store.View(h.t.Context(), cache.DAODetailKey("dao.eth"))
	if err == nil {
		err = view.Decode(&detail)
	}
	return detail, err
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

func TestOnlyWhatChangedIsPublishedAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(proposal("a"), proposal("b"), vote("a", "0x1", "1"), vote("b", "0x1", "2.5"))
	h.work(h.metrics)
	a, b := keyOf("dao.eth", "a"), keyOf("dao.eth", "b")
	before := h.hasVotes(a, "1")
	untouched := h.hasVotes(b, "1")

	h.append(vote("a", "0x2", "0.000000000000000001"))
	after := h.hasVotes(a, "2")
	if after.Revision <= before.Revision || after.DataAsOf < before.DataAsOf {
		t.Errorf("got revision %d after %d, want a later one", after.Revision, before.Revision)
	}
	if _, view, err := h.summary(b); err != nil || view.Revision != untouched.Revision {
		t.Errorf("the other proposal has revision %d (%v), want %d as before", view.Revision, err, untouched.Revision)
	}
	env.Until(h.t, func() error {
		dao, err := h.dao()
		if err != nil {
			return err
		}
		want := governance.Participation{UniqueVoters: "2", TotalVotes: "3", TotalVotingPower: "3.500000000000000001"}
		if dao.Participation != want {
			return fmt.Errorf("got %+v, want %+v", dao.Participation, want)
		}
		return nil
	})
}

func TestBallotsCountFromTheMomentTheirProposalArrives(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(vote("late", "0x1", "1"))
	h.work(h.metrics)
	h.published()
	h.append(proposal("late"))
	h.hasVotes(keyOf("dao.eth", "late"), "1")
}

func TestAFlushedRedisIsFilledAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(proposal("a"), vote("a", "0x1", "1"))
	h.work(h.metrics)
	key := keyOf("dao.eth", "a")
	h.hasVotes(key, "1")
	if err := h.redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	h.hasVotes(key, "1")
	h.published()
}

func TestAViewThatDoesNotDecodeIsPublishedAgainWhenSomebodyFindsIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(proposal("a"), vote("a", "0x1", "1"))
	h.work(h.metrics)
	a := keyOf("dao.eth", "a")
	h.hasVotes(a, "1")
	if err := h.redis.Set(t.Context(), string(cache.VoteSummaryKey(a)), "0000000000000001 broken", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.summary(a); !errors.Is(err, cache.ErrCorrupt) {
		t.Fatalf("got %v, want %v", err, cache.ErrCorrupt)
	}
	for range 3 { // however many ask
		if err := h.store.RequestRepublish(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	h.hasVotes(a, "1")
	env.Until(h.t, func() error {
		if asked, err := h.store.RepublishRequested(t.Context()); err != nil || asked {
			return fmt.Errorf("still asked for: %t, %v", asked, err) //nolint:errorlint // it may be nil
		}
		return nil
	})
}

// A failover to a replica that was behind is the same: another life of Redis, which
// lacks what was written last.
func TestWhatARestartOfRedisTookBackIsPublishedAgain(t *testing.T) {
	t.Parallel()
	server := env.Redis(t)
	h := newHouseOn(t, server.URL)
	h.append(proposal("a"), vote("a", "0x1", "1"))
	h.work(h.metrics)
	a := keyOf("dao.eth", "a")
	h.hasVotes(a, "1")
	if err := h.redis.Do(t.Context(), "save").Err(); err != nil {
		t.Fatal(err)
	}
	h.append(vote("a", "0x2", "1"))
	before := h.hasVotes(a, "2")

	server.Restart() // with what was saved
	after := h.hasVotes(a, "2")
	if after.Revision <= before.Revision {
		t.Errorf("got revision %d, want one after %d: nothing went back", after.Revision, before.Revision)
	}
	env.Until(h.t, func() error {
		published, err := h.store.PublicationState(t.Context())
		if err == nil && published.LastFullRevision < after.Revision {
			err = fmt.Errorf("everything was published at %d, want it at %d or later", published.LastFullRevision, after.Revision)
		}
		return err
	})
}

func TestAnotherWorkerTakesOverAndNothingGoesBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(proposal("a"), vote("a", "0x1", "1"))
	stopFirst := h.work(prometheus.NewRegistry())
	key := keyOf("dao.eth", "a")
	first := h.hasVotes(key, "1")
	h.work(prometheus.NewRegistry())
	stopFirst()
	h.append(vote("a", "0x2", "1"))
	second := h.hasVotes(key, "2")
	if second.Revision <= first.Revision {
		t.Errorf("got revision %d after %d, want a later one", second.Revision, first.Revision)
	}
}

// endSoon appends a proposal whose end is ahead, and waits for what shows before it:
// with an end further ahead where the machine was too slow for the first.
func (h *house) endSoon(p *record.Proposal, before func() error) {
	h.t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	var err error
	for _, ahead := range []time.Duration{8 * time.Second, time.Minute} {
		p.EndAt = new(governance.TimestampOf(time.Now().Add(ahead)))
		h.append(p)
		for time.Now().Before(p.EndAt.Time()) {
			if err = before(); err == nil {
				return
			}
			<-ticker.C
		}
	}
	h.t.Fatalf("not before the end: %v", err)
}

func TestTimeAloneClosesAProposal(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	start := governance.TimestampOf(time.Now().Add(-time.Hour))
	ending := proposal("ending")
	ending.StartAt = &start
	h.append(vote("ending", "0x1", "1"))
	h.work(h.metrics)
	counts := func(want governance.ProposalCounts) error {
		dao, err := h.dao()
		if err == nil && dao.ProposalCounts != want {
			err = fmt.Errorf("got %+v, want %+v", dao.ProposalCounts, want)
		}
		return err
	}
	h.endSoon(ending, func() error { return counts(governance.ProposalCounts{Total: 1, Active: 1}) })
	env.Until(h.t, func() error { return counts(governance.ProposalCounts{Total: 1, Closed: 1}) })
	summary, _, err := h.summary(keyOf("dao.eth", "ending"))
	if err != nil || summary.Proposal.Outcome != governance.Passed {
		t.Errorf("got outcome %s (%v), want passed", summary.Proposal.Outcome, err)
	}
}

func TestAClaimedSourceMovesToItsDAO(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(proposal("a"), vote("a", "0x1", "1"))
	h.work(h.metrics)
	former := keyOf("dao.eth", "a")
	h.hasVotes(former, "1")

	h.append(&record.DAO{ID: "dao", Name: "The DAO", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "dao.eth"}}})
	h.hasVotes(keyOf("dao", "a"), "1")
	env.Until(h.t, func() error {
		if _, _, err := h.summary(former); !errors.Is(err, cache.ErrMiss) {
			return fmt.Errorf("the former key still has an answer (%w)", err)
		}
		if _, err := h.dao(); !errors.Is(err, cache.ErrMiss) {
			return fmt.Errorf("the former DAO still has an answer (%w)", err)
		}
		page, err := h.store.DAOPage(t.Context(), cache.DAOFilter{}, "", 10)
		if err != nil || len(page.Items) != 1 || page.Items[0].Name != "The DAO" {
			return fmt.Errorf("got %+v (%w), want the one DAO", page.Items, err)
		}
		return nil
	})
}

func TestNumbersThatDoNotAddUpKeepTheLastGoodOnes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(proposal("a"), proposal("fresh"), vote("a", "0x1", "1"))
	h.work(h.metrics)
	key := keyOf("dao.eth", "a")
	good := h.hasVotes(key, "1")

	// A ballot that supports two choices has no place on a single-choice proposal.
	twice := vote("a", "0x2", "5")
	twice.Choices = []string{"1", "2"}
	h.append(twice)
	env.Until(h.t, func() error {
		if n := counterValue(t, h.metrics, "pnyx_publish_unbalanced_total"); n == 0 {
			return errors.New("no mismatch was counted")
		}
		return nil
	})
	if _, view, err := h.summary(key); err != nil || view.Revision != good.Revision {
		t.Errorf("got revision %d (%v), want %d kept", view.Revision, err, good.Revision)
	}
	env.Until(h.t, func() error {
		view, err := h.store.View(t.Context(), cache.DAODetailKey("dao.eth"))
		if err != nil {
			return err
		}
		sealed, err := h.warehouse.CommittedBatches(t.Context(), time.Unix(0, 0))
		if err == nil && !slices.ContainsFunc(sealed, func(b warehouse.CommittedBatch) bool {
			return view.FreshUntil != nil && *view.FreshUntil == governance.TimestampOf(b.CommittedAt)
		}) {
			err = fmt.Errorf("the DAO's last good numbers say that newer ones are due since %v, not since some were sealed", view.FreshUntil)
		}
		return err
	})

	env.Until(h.t, func() error {
		flags, err := h.warehouse.QualityFlags(t.Context(), twice.Proposal.Hash())
		if err == nil && !slices.Contains(flags, string(rules.TotalsDisagree)) {
			err = fmt.Errorf("got flags %v, want %s among them", flags, rules.TotalsDisagree)
		}
		return err
	})
	corrected := vote("a", "0x2", "5")
	h.append(corrected)
	h.hasVotes(key, "2")
}

func TestNumbersThatDoNotAddUpDoNotMakeThingsVanishWithAFlush(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(proposal("a"), vote("a", "0x1", "1"))
	h.work(h.metrics)
	key := keyOf("dao.eth", "a")
	h.hasVotes(key, "1")
	twice := vote("a", "0x2", "5")
	twice.Choices = []string{"1", "2"}
	h.append(twice)
	env.Until(h.t, func() error {
		if n := counterValue(t, h.metrics, "pnyx_publish_unbalanced_total"); n == 0 {
			return errors.New("no mismatch was counted")
		}
		return nil
	})
	if err := h.redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	h.published()

	if summary, view, err := h.summary(key); err != nil || summary.Totals != nil || view.Readiness != governance.ReadinessUnavailable {
		t.Errorf("got %+v, %s (%v), want a summary without totals", summary, view.Readiness, err)
	}
	if _, err := h.dao(); !errors.Is(err, cache.ErrWithheld) {
		t.Errorf("got %v for the DAO, want it to be withheld", err)
	}
	page, err := h.store.DAOPage(t.Context(), cache.DAOFilter{}, "", 10)
	if err != nil || len(page.Items) != 1 {
		t.Errorf("got %+v (%v), want the one DAO", page.Items, err)
	}
	h.append(vote("a", "0x2", "5"))
	h.hasVotes(key, "2")
	env.Until(h.t, func() error {
		_, err := h.dao()
		return err
	})
}

// publishedOnce is what a worker has left that published a ballot on a, and ended.
func (h *house) publishedOnce() cache.PublicationState {
	h.t.Helper()
	h.append(proposal("a"), vote("a", "0x1", "1"))
	stop := h.work(h.metrics)
	h.hasVotes(keyOf("dao.eth", "a"), "1")
	h.published()
	stop()
	return h.published()
}

// leave writes what a worker has left whose clock was another.
func (h *house) leave(published cache.PublicationState) {
	h.t.Helper()
	lease := h.store.NewLease(5 * time.Second)
	if err := errors.Join(
		lease.Acquire(h.t.Context()), lease.SetPublicationState(h.t.Context(), published, ""), lease.Release(h.t.Context()),
	); err != nil {
		h.t.Fatal(err)
	}
}

func TestAWarehouseWhoseClockWasSetBackIsStillPublished(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	published := h.publishedOnce()
	published.CommittedThrough += time.Hour.Microseconds()
	h.leave(published)
	h.work(prometheus.NewRegistry())
	h.append(vote("a", "0x2", "5"))
	h.hasVotes(keyOf("dao.eth", "a"), "2")
}

func TestEverythingIsPublishedAgainAlthoughTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	published := h.publishedOnce()
	published.Revision += uint64(time.Hour.Microseconds())
	h.leave(published)
	if err := h.store.RequestRepublish(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.work(prometheus.NewRegistry())
	env.Until(h.t, func() error {
		now, err := h.store.PublicationState(t.Context())
		if err == nil && now.LastFullRevision <= published.Revision {
			err = fmt.Errorf("everything was published at %d, want a revision past %d", now.LastFullRevision, published.Revision)
		}
		return err
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
