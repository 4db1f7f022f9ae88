package follow_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/follow"
	"pnyx/follow/clock"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/record"
)

// simulation is a thousand DAOs at one hub, 20 chains and 500 forums, in which ballots are
// cast at a steady rate.
type simulation struct {
	clock *clock.Clock
	// polls counts requests to all upstreams.
	polls atomic.Int64
	// cast counts ballots of all upstreams.
	cast atomic.Int64

	mu sync.Mutex
	// lags are the ages of ballots when they were committed, by provider.
	lags map[governance.Provider][]time.Duration
}

// simulated is one upstream: whatever was cast since its last poll is what it answers.
type simulated struct {
	*simulation

	id      string
	lanes   []follow.Lane
	every   time.Duration // between two ballots
	sources []record.SourceRef
	read    time.Time
	votes   int
}

func (u *simulated) ID() string                           { return u.id }
func (u *simulated) Sources() []record.SourceRef          { return u.sources }
func (u *simulated) Check(context.Context) []follow.Check { return nil }

func (u *simulated) Lanes(j *follow.Journal) []follow.Lane {
	u.read = u.clock.Now()
	lanes := slices.Clone(u.lanes)
	for i := range lanes {
		lanes[i].Run = func(context.Context) (bool, error) {
			u.polls.Add(1)
			return false, nil
		}
	}
	lanes[0].Run = func(ctx context.Context) (bool, error) { return false, u.poll(ctx, j) }
	return lanes
}

// poll commits the ballots since the last poll, and notes their age afterwards.
func (u *simulated) poll(ctx context.Context, j *follow.Journal) error {
	u.polls.Add(1)
	now := u.clock.Now()
	var records []record.Record
	var cast []time.Time
	for at := u.read.Add(u.every); at.Before(now); at = at.Add(u.every) {
		stamp := governance.TimestampOf(at)
		u.votes++
		u.cast.Add(1)
		records = append(records, &record.Ballot{
			Proposal: record.ProposalRef{Provider: u.sources[0].Provider, ExternalID: u.id + "/" + strconv.Itoa(u.votes%50)},
			VoteID:   u.id + "/" + strconv.Itoa(u.votes), Voter: fmt.Sprintf("0x%040x", u.votes), Power: decimal.NewFromInt(1),
			ChoiceKey: "1", Choices: []string{"1"}, VotedAt: &stamp,
		})
		cast, u.read = append(cast, at), at
	}
	cursor := j.Cursor(record.SourceRef{}, u.lanes[0].Name)
	cursor.Position, cursor.UpstreamAt = strconv.Itoa(u.votes), &now
	if _, err := j.Commit(ctx, records, cursor); err != nil {
		return err
	}
	committed := u.clock.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, at := range cast {
		u.lags[u.sources[0].Provider] = append(u.lags[u.sources[0].Provider], committed.Sub(at))
	}
	return nil
}

// upstreams returns those of the simulation, with the lanes that real ones have.
func (s *simulation) upstreams() (all []follow.Upstream) {
	lane := func(name string, interval time.Duration) follow.Lane {
		return follow.Lane{Name: name, Interval: interval}
	}
	add := func(id string, provider governance.Provider, sources int, every time.Duration, lanes ...follow.Lane) {
		u := &simulated{simulation: s, id: id, lanes: lanes, every: every}
		for n := range sources {
			u.sources = append(u.sources, record.SourceRef{Provider: provider, ID: id + ":" + strconv.Itoa(n)})
		}
		all = append(all, u)
	}
	add("snapshot:hub", governance.Snapshot, 1000, 500*time.Millisecond, lane("log", 10*time.Second),
		lane("watch", time.Minute), lane("close", 30*time.Second), lane("sweep", 43*time.Second), lane("backfill", 10*time.Second))
	for n := range 20 {
		add(fmt.Sprintf("eip155:%d", n), governance.Governor, 25, 30*time.Second, lane("tip", 2*time.Second),
			lane("final", time.Minute), lane("state", time.Minute), lane("backfill", 30*time.Second))
	}
	for n := range 500 {
		add(fmt.Sprintf("discourse:forum%d", n), governance.Discourse, 1, 20*time.Minute, lane("posts", 30*time.Second),
			lane("latest", time.Minute), lane("sweep", time.Hour), lane("backfill", time.Hour))
	}
	return all
}

// TestThousandDAOs follows them for an hour of simulated time or more, and prints what
// that costs. Everything that is cast has to be committed.
func TestThousandDAOs(t *testing.T) {
	stated := os.Getenv("PNYX_TEST_FOLLOW_SIM")
	if stated == "" {
		t.Skip("PNYX_TEST_FOLLOW_SIM is not set: make follow-sim follows a thousand DAOs")
	}
	length, err := time.ParseDuration(stated)
	if err != nil {
		t.Fatal(err)
	}
	const factor = 10
	store, err := cache.Open(env.EmbeddedRedis(t), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := &simulation{clock: clock.Faster(factor), lags: map[governance.Provider][]time.Duration{}}
	f := follow.New(follow.Options{
		Warehouse: env.Warehouse(t), Store: store, Clock: s.clock, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	f.Set(s.upstreams()...)
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	f.Run(ctx)

	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	t.Logf("%s of simulated time: %.0f requests an hour, %d MiB of memory",
		length*factor, float64(s.polls.Load())/(length*factor).Hours(), memory.Sys>>20)
	cast, committed := int(s.cast.Load()), 0
	s.mu.Lock()
	defer s.mu.Unlock()
	for provider, lags := range s.lags {
		slices.Sort(lags)
		committed += len(lags)
		t.Logf("%s: %d ballots, lag p50 %s, p99 %s", provider, len(lags),
			lags[len(lags)/2].Round(100*time.Millisecond), lags[len(lags)*99/100].Round(100*time.Millisecond))
	}
	// What was being written at the end may not be committed.
	if committed < cast*9/10 || committed == 0 {
		t.Errorf("got %d ballots committed of %d", committed, cast)
	}
}
