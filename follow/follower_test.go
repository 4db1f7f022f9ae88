package follow_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// harbor is the source that the upstream of these tests has.
func harbor() record.SourceRef {
	return record.SourceRef{Provider: governance.Snapshot, ID: "harbor.eth"}
}

// scripted is an upstream with one poller for each function.
type scripted struct {
	id      string
	pollers map[string]func(ctx context.Context, j *follow.Journal) (more bool, err error)
}

func (u *scripted) ID() string                           { return u.id }
func (u *scripted) Sources() []record.SourceRef          { return []record.SourceRef{harbor()} }
func (u *scripted) Check(context.Context) []follow.Check { return nil }

func (u *scripted) Pollers(j *follow.Journal) (pollers []follow.Poller) {
	for name, run := range u.pollers {
		pollers = append(pollers, follow.Poller{
			Name: name, Interval: time.Minute,
			Run: func(ctx context.Context) (bool, error) { return run(ctx, j) },
		})
	}
	return pollers
}

// bench is a warehouse and a Redis that followers share.
type bench struct {
	*testing.T

	warehouse *warehouse.Warehouse
	redis     string
}

func newBench(t *testing.T) bench {
	t.Helper()
	return bench{t, env.Warehouse(t), env.EmbeddedRedis(t)}
}

// start runs a follower, in which an hour passes in a second, until stop.
func (b bench) start(upstreams ...follow.Upstream) (f *follow.Follower, stop func()) {
	b.Helper()
	store := env.Must(cache.Open(b.redis, time.Minute))(b)
	const factor = 3600
	started := time.Now()
	faster := clock.Driven(func() time.Time { return started.Add(factor * time.Since(started)) }, func(ctx context.Context, pause time.Duration) error {
		return (*clock.Clock)(nil).Wait(ctx, pause/factor)
	})
	f = follow.New(follow.Options{
		Warehouse: b.warehouse, Store: store, Clock: faster,
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	f.Hasten(time.Minute, 20*time.Millisecond)
	f.Set(upstreams...)
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	b.Cleanup(func() {
		stop()
		store.Close()
	})
	return f, stop
}

func (b bench) awaitCount(what string, count *atomic.Int64, n int64) {
	b.Helper()
	env.Until(b, func() error {
		if got := count.Load(); got < n {
			return fmt.Errorf("%s: got %d, want %d", what, got, n)
		}
		return nil
	})
}

// states returns the states of the upstream's pollers once they are as wanted.
func (b bench) awaitStates(upstream string, want map[string]governance.SourceState) {
	b.Helper()
	env.Until(b, func() error {
		cursors, err := records.FollowCursors(b.Context(), b.warehouse, upstream)
		if err != nil {
			return err
		}
		got := map[string]governance.SourceState{}
		for _, c := range cursors {
			if c.Poller != records.FollowSource {
				got[c.SourceID+"/"+c.Poller] = c.State
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}

type pollerFunc = func(context.Context, *follow.Journal) (bool, error)

func counting(count *atomic.Int64) pollerFunc {
	return func(context.Context, *follow.Journal) (bool, error) {
		count.Add(1)
		return false, nil
	}
}

func TestOneFollowerPollsAnUpstream(t *testing.T) {
	t.Parallel()

	b := newBench(t)
	var first, second atomic.Int64
	_, stop := b.start(&scripted{"hub", map[string]pollerFunc{"log": counting(&first)}})
	b.awaitCount("polls of the first", &first, 3)
	b.start(&scripted{"hub", map[string]pollerFunc{"log": counting(&second)}})
	b.awaitCount("polls of the first", &first, first.Load()+3)
	env.Want(t, 0, second.Load(), "the second polled", "times beside the first")
	stop()
	polls := first.Load()
	b.awaitCount("polls of the second after the first has ended", &second, 3)
	env.Want(t, polls, first.Load(), "polls of the first", "none after its end")
}

func TestPollersStopWhenTheLeaseIsLost(t *testing.T) {
	t.Parallel()

	b := newBench(t)
	var begun, ended atomic.Int64
	f, _ := b.start()
	f.Hasten(200*time.Millisecond, 20*time.Millisecond)
	f.Set(&scripted{"hub", map[string]pollerFunc{"log": func(ctx context.Context, _ *follow.Journal) (bool, error) {
		begun.Add(1)
		<-ctx.Done()
		ended.Add(1)
		return false, ctx.Err()
	}}})
	b.awaitCount("polls", &begun, 1)
	client := env.RedisClient(t, b.redis)
	leases, err := client.Keys(t.Context(), "*:lease:hub").Result()
	if err != nil || len(leases) != 1 {
		t.Fatalf("got leases %v (%v), want one", leases, err)
	}
	env.MustDo(t, client.Set(t.Context(), leases[0], "another process", time.Hour).Err())
	b.awaitCount("polls that ended", &ended, 1)
}

func TestFailingPollerLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()

	b := newBench(t)
	var good, failed, panicked, endless atomic.Int64
	b.start(&scripted{"hub", map[string]pollerFunc{
		"log": counting(&good),
		"watch": func(context.Context, *follow.Journal) (bool, error) {
			failed.Add(1)
			return false, errors.New("status 502")
		},
		"sweep": func(context.Context, *follow.Journal) (bool, error) {
			panicked.Add(1)
			panic("index out of range")
		},
		"backfill": func(ctx context.Context, _ *follow.Journal) (bool, error) { // fails once, and is failing at once
			if endless.Add(1) > 1 {
				<-ctx.Done()
			}
			return false, fmt.Errorf("the hub: %w", follow.ErrEndless)
		},
	}})
	b.awaitCount("failures", &failed, 3)
	b.awaitCount("panics", &panicked, 3)
	b.awaitCount("polls", &good, 3)
	b.awaitStates("hub", map[string]governance.SourceState{
		"/log": governance.SourceLive, "/watch": governance.SourceFailing, "/sweep": governance.SourceFailing,
		"/backfill": governance.SourceFailing,
	})
}

func TestLimitedPollerWaits(t *testing.T) {
	t.Parallel()

	b := newBench(t)
	var polls atomic.Int64
	b.start(&scripted{"hub", map[string]pollerFunc{"log": func(_ context.Context, j *follow.Journal) (bool, error) {
		polls.Add(1)
		return false, fmt.Errorf("poll: %w", &fetch.LimitedError{Host: "hub", Until: j.Clock.Now().Add(1000 * time.Hour)})
	}}})
	b.awaitStates("hub", map[string]governance.SourceState{"/log": governance.SourceLimited})
	env.Want(t, 1, polls.Load(), "polls")
}

func TestStoppedPollerWaitsForAPerson(t *testing.T) {
	t.Parallel()

	b := newBench(t)
	var polls, other atomic.Int64
	hub := func() *scripted {
		return &scripted{"chain", map[string]pollerFunc{
			"log": counting(&other),
			"tip": func(context.Context, *follow.Journal) (bool, error) {
				polls.Add(1)
				return false, fmt.Errorf("no common block: %w", follow.ErrStopped)
			},
		}}
	}
	f, _ := b.start(hub())
	b.awaitStates("chain", map[string]governance.SourceState{"/log": governance.SourceLive, "/tip": governance.SourceFailing})
	b.awaitCount("polls of the other poller", &other, other.Load()+3)
	env.Want(t, 1, polls.Load(), "polls")
	f.Set(hub())
	b.awaitCount("polls after a change", &polls, 2)
}

func TestPastIsReadWithoutPauses(t *testing.T) {
	t.Parallel()

	b := newBench(t)
	const all = 500
	var pages atomic.Int64
	hub := &scripted{"hub", map[string]pollerFunc{"backfill": func(ctx context.Context, j *follow.Journal) (bool, error) {
		cursor := j.Cursor(harbor(), "backfill")
		cursor.Done, cursor.Total, cursor.State = uint64(min(pages.Add(1), all)), all, governance.SourceBackfilling
		if cursor.Done == cursor.Total {
			cursor.State = governance.SourceLive
		}
		return cursor.Done < cursor.Total, j.Commit(ctx, nil, cursor)
	}}}
	b.start(hub)
	b.awaitCount("pages", &pages, all)
	b.awaitStates("hub", map[string]governance.SourceState{
		"/backfill": governance.SourceLive, "harbor.eth/backfill": governance.SourceLive,
	})
}

func TestUpstreamThatIsRemovedIsOff(t *testing.T) {
	t.Parallel()

	b := newBench(t)
	var polls atomic.Int64
	f, _ := b.start(&scripted{"hub", map[string]pollerFunc{"log": counting(&polls)}})
	b.awaitCount("polls", &polls, 2)
	f.Set()
	b.awaitStates("hub", map[string]governance.SourceState{"/log": governance.SourceOff})
	polls.Store(0)
	f.Set(&scripted{"hub", map[string]pollerFunc{"log": counting(&polls)}})
	b.awaitCount("polls after it is back", &polls, 2)
	b.awaitStates("hub", map[string]governance.SourceState{"/log": governance.SourceLive})
}

func TestSourceThatIsRemovedIsOff(t *testing.T) {
	t.Parallel()

	b := newBench(t)
	journal := env.Must(follow.OpenJournal(t.Context(), b.warehouse, "hub", []record.SourceRef{harbor()}, nil))(t)
	gone := record.SourceRef{Provider: governance.Snapshot, ID: "gone.eth"}
	env.MustDo(t, journal.Commit(t.Context(), nil, journal.Cursor(gone, "backfill"), journal.Cursor(harbor(), "backfill")))
	var polls atomic.Int64
	b.start(&scripted{"hub", map[string]pollerFunc{"log": counting(&polls)}})
	b.awaitStates("hub", map[string]governance.SourceState{
		"/log": governance.SourceLive, "gone.eth/backfill": governance.SourceOff, "harbor.eth/backfill": governance.SourceLive,
	})
}
