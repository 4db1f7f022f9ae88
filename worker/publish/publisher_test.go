package publish

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/shopspring/decimal"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
)

// Sorted copies, recounts and the feed come after a publication of everything.
func TestAPublicationOfEverythingComesFirst(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	e.step()
	p := e.publisher
	if p.isPublishingEverything(t.Context()) {
		t.Error("a publication of everything runs after it has ended")
	}
	p.AwaitFullPublication(t.Context()) // returns at once
	end := p.beginFull()
	if !p.isPublishingEverything(t.Context()) {
		t.Error("sorted copies are built during a publication of everything")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	p.AwaitFullPublication(ended) // returns at the end of the context
	waited := make(chan struct{})
	go func() {
		p.AwaitFullPublication(t.Context())
		close(waited)
	}()
	select {
	case <-waited:
		t.Error("the feed does not wait for a publication of everything")
	default:
	}
	end()
	<-waited
	if p.isPublishingEverything(t.Context()) {
		t.Error("a publication of everything runs after it has ended")
	}
}

func TestEverythingIsAboutToBePublishedToAnEmptyRedis(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	env.MustDo(t, env.RedisClient(t, e.redisURL).FlushAll(t.Context()).Err())
	if !e.publisher.isPublishingEverything(t.Context()) {
		t.Error("sorted copies are built before anything is published")
	}
}

// TestIdlePublisherReadsNothingUntilItIsTold counts statements: each keeps an idle engine busy.
func TestIdlePublisherReadsNothingUntilItIsTold(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	e.append([]record.Record{e.ballot()})
	e.step()
	e.step() // finds nothing more
	registry := prometheus.NewRegistry()
	e.publisher.Warehouse.Instrument(registry, nil)
	statements := func() (sum uint64) {
		t.Helper()
		families := env.Must(registry.Gather())(t)
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				sum += metric.GetHistogram().GetSampleCount()
			}
		}
		return sum
	}
	idle := func() {
		t.Helper()
		env.MustDo(t, e.term.step(t.Context(), time.Hour))
	}
	trips := &roundTrips{}
	cache.Client(e.publisher.Store.Conn()).AddHook(trips)
	before := statements()
	for range 10 {
		idle()
	}
	env.Want(t, 0, statements()-before, "statements in 10 idle steps")
	env.Want(t, 20, trips.count.Load(), "round trips to Redis in 10 idle steps")
	published := e.term.published.Revision
	e.append([]record.Record{e.ballot()})
	idle()
	env.Want(t, published, e.term.published.Revision, "revision", "without being told of a batch")
	e.step()
	if got := e.term.published.Revision; got == published {
		t.Errorf("got revision %d after being told of a batch, want a later one", got)
	}
}

type roundTrips struct{ count atomic.Int64 }

func (*roundTrips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *roundTrips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		r.count.Add(1)
		return next(ctx, command)
	}
}

func (r *roundTrips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		r.count.Add(1)
		return next(ctx, commands)
	}
}

func TestPublisherIsToldOfABatchThatCameWhileItWorked(t *testing.T) {
	t.Parallel()
	p := &Publisher{committed: make(chan struct{}, 1)}
	p.Wake()
	if !backoff.Await(t.Context(), time.Hour, p.committed) {
		t.Error("got false, want it to be told")
	}
	if backoff.Await(t.Context(), time.Nanosecond, p.committed) {
		t.Error("got true after the pause, want it not to be told twice")
	}
}

// previousState is the key of the state of publication of the version before.
const previousState = "pnyx:4:{worker}:publication"

// mismatched is a ballot with a part: unless that is 5, choices do not sum to ballots until it is cast again.
func (e *electorate) mismatched(part int64) *record.Ballot {
	return &record.Ballot{
		Proposal: e.proposals[0], VoteID: "twice", Voter: "0xtwice", Power: decimal.New(5, 0), Choices: []string{"1"},
		Shares: []decimal.Decimal{decimal.NewFromInt(part)}, ChoiceKey: "1", RawChoice: "1",
	}
}

func (e *electorate) detail() cache.View {
	e.t.Helper()
	return env.Must(e.publisher.Store.View(e.t.Context(), cache.DAODetailKey("space-0")))(e.t)
}

// While nodes of the version before serve, nodes of this one do not become ready with a DAO
// withheld whose ballots landed as it was counted.
func TestFirstPublicationOfAFormatCountsAgainWhatItWithholds(t *testing.T) {
	t.Parallel()
	for name, served := range map[string]bool{"the version before serves": true, "nobody serves": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newElectorate(t, 1)
			e.publisher.rangedFrom = pages.SortedCopyThreshold
			e.append([]record.Record{e.mismatched(4)})
			e.flush()
			if served {
				env.MustDo(t, env.RedisClient(t, e.redisURL).Set(t.Context(), previousState, "state", 0).Err())
			}
			e.shown = func() {
				e.shown = func() {}
				if _, err := e.publisher.Store.PublicationState(t.Context()); err != nil { // before nodes are ready
					e.append([]record.Record{e.mismatched(5)})
				}
			}
			e.step()
			if got := e.detail().IsWithheld(); got == served {
				t.Errorf("got the DAO withheld: %t, want %t", got, !served)
			}
		})
	}
}

// What a publication of everything keeps may be of long ago, as the numbers of an earlier version
// which has come back: it does not say that it is fresh.
func TestKeptNumbersAreFreshNoLongerThanTheyAreKnownToBe(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	e.publisher.rangedFrom = pages.SortedCopyThreshold
	before := e.detail()
	e.append([]record.Record{e.mismatched(4)})
	e.takeOver()
	pulse := env.Must(e.publisher.Warehouse.Pulse(t.Context(), 0))(t)
	env.MustDo(t, e.term.publishAll(t.Context(), pulse.Now.Add(time.Hour), "others"))
	after := e.detail()
	if after.FreshUntil == nil || *after.FreshUntil != before.DataAsOf || after.DataAsOf != before.DataAsOf {
		t.Errorf("got numbers of %s, fresh until %v, want both to be %s", after.DataAsOf, after.FreshUntil, before.DataAsOf)
	}
	var dao governance.DAODetail
	if err := after.Decode(&dao); err != nil {
		t.Errorf("got %v, want the numbers of before", err)
	}
}

func TestPublicationsRestDuringLongImportsAlone(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	p := pace{ended: now}
	publish := func(pause, took time.Duration, everything bool) time.Duration {
		began := now.Add(pause)
		now = began.Add(took)
		return p.rest(began, now, everything)
	}
	want := func(got, want time.Duration) {
		t.Helper()
		if got != want {
			t.Errorf("got a rest of %v, want %v", got, want)
		}
	}
	want(publish(0, time.Minute, true), 0)
	for range 100 { // a ballot a second
		want(publish(600*time.Millisecond, 400*time.Millisecond, false), 0)
	}
	rest := time.Duration(0)
	for range 10 { // batch after batch
		rest = publish(rest, 600*time.Millisecond, false)
	}
	want(rest, 600*time.Millisecond)
	for range 3 {
		rest = publish(rest, time.Minute, false)
		want(rest, maxRest)
	}
	want(publish(burst, 400*time.Millisecond, false), 0)
}

func TestGroupsAreReadAheadAndWrittenInOrder(t *testing.T) {
	t.Parallel()
	var reading, most atomic.Int64
	held := make(chan struct{})
	var written []int
	err := readAhead(t.Context(), []int{0, 1, 2, 3, 4},
		func(_ context.Context, group int) (int, error) {
			most.Store(max(most.Load(), reading.Add(1)))
			defer reading.Add(-1)
			switch group {
			case 0:
				<-held // until the second is read too
			case 1:
				close(held)
			}
			return 10 * group, nil
		},
		func(_ context.Context, rows int) error {
			written = append(written, rows)
			return nil
		})
	if want := []int{0, 10, 20, 30, 40}; err != nil || !slices.Equal(written, want) {
		t.Errorf("wrote %v (%v), want %v", written, err, want)
	}
	if most.Load() > 3 {
		t.Errorf("%d groups were read at a time, want at most three", most.Load())
	}
}

func TestReadingAheadEndsWithTheFirstError(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for name, test := range map[string]struct{ readError, writeError error }{
		"read": {readError: failed}, "write": {writeError: failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var written atomic.Int64
			err := readAhead(t.Context(), []int{0, 1, 2, 3, 4, 5, 6, 7},
				func(ctx context.Context, group int) (int, error) {
					if group == 2 && test.readError != nil {
						return 0, test.readError
					}
					return group, ctx.Err()
				},
				func(_ context.Context, group int) error {
					written.Add(1)
					if group == 2 {
						return test.writeError
					}
					return nil
				})
			if !errors.Is(err, failed) || written.Load() > 3 {
				t.Errorf("wrote %d groups and got %v, want at most three and the error", written.Load(), err)
			}
		})
	}
}
