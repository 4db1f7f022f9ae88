package drills

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"pnyx/test/env"
	"pnyx/test/histories"
)

const (
	// historyEvents is how many times something breaks in one history.
	historyEvents = 6
	// unwritten is how long before a fault a node may have counted what is in no warehouse yet.
	unwritten = 3 * time.Second
	// monthBurst and monthPerMinute describe the bucket of tokens whose month is checked.
	monthBurst, monthPerMinute = 8, 180
	// maxThink bounds the time between two operations of a client.
	maxThink = 120 * time.Millisecond
)

// historyKind is a deployment that histories are recorded of, and what breaks in it.
type historyKind struct {
	name    string
	options deploymentOptions
	// follows adds live sources.
	follows bool
	faults  []historyFault
}

// historyRun is a deployment whose clients' operations are recorded while it breaks.
type historyRun struct {
	*deployment

	seed     uint64
	kind     historyKind
	recorder *histories.Recorder
	// ctx ends with the clients.
	ctx      context.Context
	clients  sync.WaitGroup
	partners *partners
	buyer    *buyer
	mirror   mirror
	// subscriber is sent events.
	subscriber *subscriber
	// sparesFirst keeps the first process of each role alive, so that what grows in it shows.
	sparesFirst bool
	// live is nil for a kind that follows nothing.
	live *liveSources
}

// TestHistories records histories for PNYX_TEST_HISTORIES, and checks them. PNYX_TEST_SEED begins with a seed;
// PNYX_TEST_HISTORY_FAULTS is how many times something breaks in each. PNYX_TEST_HISTORY_BUILD is the version of
// the program: it keeps each result, and renews test/results/histories.md.
func TestHistories(t *testing.T) {
	length, seed := lasting(t, "PNYX_TEST_HISTORIES", "make test-histories"), newSeed(t)
	events, err := strconv.Atoi(os.Getenv("PNYX_TEST_HISTORY_FAULTS"))
	if err != nil {
		events = historyEvents
	}
	build := os.Getenv("PNYX_TEST_HISTORY_BUILD")
	kinds := historyKinds()
	for began, first := time.Now(), seed; seed == first || time.Since(began) < length; seed++ {
		kind := kinds[seed%uint64(len(kinds))]
		t.Run(fmt.Sprintf("SEED=%d", seed), func(t *testing.T) {
			t.Log(kind.name)
			var result histories.Result
			defer func() {
				if t.Failed() && len(result.Violations) == 0 {
					result.Violations = []string{"it did not recover, or not end: see its log"}
				}
				if build != "" {
					result.Build, result.Seed, result.Kind = build, seed, kind.name
					keepResult(t, result)
				}
			}()
			result = histories.ResultOf(playHistory(t, seed, kind, events))
		})
	}
}

// keepResult keeps the result of a history and renews the report.
func keepResult(t *testing.T, result histories.Result) {
	t.Helper()
	const kept = "../histories/results.ndjson"
	if err := result.Append(kept); err != nil {
		t.Error(err)
		return
	}
	results, err := histories.ReadResults(kept)
	if err == nil {
		err = os.WriteFile("../../test/results/histories.md", []byte(histories.Report(results)), 0o600)
	}
	if err != nil {
		t.Error(err)
	}
}

// playHistory records the history of a seed, in which something breaks so often, and checks it.
func playHistory(t *testing.T, seed uint64, kind historyKind, events int) (histories.History, []histories.Violation) {
	t.Helper()
	w := loadDataset(t)
	r := openHistory(t, w, seed, kind)
	ctx, stop := context.WithCancel(context.Background())
	r.ctx = ctx
	t.Cleanup(func() { stop(); r.clients.Wait() })
	if r.live != nil {
		r.live.start(r)
	}
	r.startClients(historyClients(r)...)
	var breakages []histories.Breakage
	for _, fault := range kind.faults {
		breakages = append(breakages, fault.Breakage)
	}
	watches := make([]limitWatch, len(r.apis))
	for n := range watches {
		r.clients.Go(func() {
			for wait(r.ctx, time.Second) {
				watches[n].look(r, n)
			}
		})
	}
	for n, event := range histories.Schedule(seed, breakages, events) {
		r.play(event, histories.Client(seed, -2-n))
	}
	stop()
	r.clients.Wait()
	r.ctx = t.Context()
	r.buyer.settle(r)
	r.partners.settle(r)
	r.mirror.settle(r)
	if r.live != nil {
		r.live.settle(r)
	}
	r.subscriber.settle(r)
	for n := range watches {
		watches[n].look(r, n)
	}
	history := r.recorder.History()
	violations := histories.Check(history, histories.Setting{
		Nodes: len(r.apis), Voters: pollVoters, Burst: monthBurst, PerSecond: monthPerMinute / 60.0,
	})
	for _, violation := range violations {
		t.Error(violation)
	}
	if t.Failed() {
		path := filepath.Join(os.TempDir(), fmt.Sprintf("pnyx-history-%d.ndjson", seed))
		t.Logf("the history is in %s (%v)", path, history.Write(path))
	}
	t.Logf("SEED=%d: %d operations, %d violations", seed, len(history), len(violations))
	return history, violations
}

// openHistory opens a deployment whose clients' operations are recorded, with a subscriber.
func openHistory(t *testing.T, w *dataset, seed uint64, kind historyKind) *historyRun {
	t.Helper()
	// Fourteen processes share the machine.
	kind.options.environ = append(kind.options.environ, "PNYX_CACHE_TIMEOUT=1s", "PNYX_LIMIT_TIMEOUT=1s",
		"PNYX_WEBHOOK_RECEIVERS=private")
	r := &historyRun{deployment: newDeployment(t, w, kind.options), seed: seed, kind: kind, partners: &partners{}}
	if kind.follows {
		r.live = r.followSources()
	}
	r.open()
	r.poll, r.recorder = w.poll.begin(), histories.NewRecorder()
	r.poll.clockIsWrong = true // the models compare no times of two machines
	r.buyer, r.subscriber = newBuyer(r), r.subscribe()
	return r
}

// play breaks what an event says, repairs it, and waits until everything has recovered.
func (r *historyRun) play(event histories.Event, random *rand.Rand) {
	r.tb.Helper()
	wait(r.ctx, event.Calm)
	called := r.recorder.Now()
	wait(r.ctx, unwritten)
	var mends []func()
	for _, i := range event.Faults {
		fault := r.kind.faults[i]
		r.tb.Logf("%s: %s, for %s", r.recorder.Now().Round(time.Millisecond), fault.Name, event.Lasts.Round(time.Millisecond))
		if mend := fault.breaks(r, random); mend != nil {
			mends = append(mends, mend)
		}
	}
	wait(r.ctx, event.Lasts)
	for _, mend := range mends {
		mend()
	}
	r.recovered(time.Now())
	r.countTogether()
	r.partners.awaitMonths(r, called)
	for _, i := range event.Faults {
		fault := r.kind.faults[i]
		r.recorder.Add(histories.Operation{
			Kind: histories.Fault, Subject: fault.Name, Call: called, Return: r.recorder.Now(), Status: 200,
			Redis: fault.redis, Rewinds: fault.rewinds, SetsClock: fault.setsClock,
		})
	}
}

// countTogether waits until every node counts months in Redis again.
func (r *historyRun) countTogether() {
	r.tb.Helper()
	for _, n := range r.apis {
		env.Within(r.tb, recoveryTimeout, func() error {
			ask(n.base+r.poll.questions()[0].path, r.dataset.headers()) // a request finds out
			if alone, err := n.metric("pnyx_ratelimit_alone"); err != nil || alone != 0 {
				return fmt.Errorf("%s counts by itself: %g %w", n.base, alone, err)
			}
			return nil
		})
	}
}

// historyClient does one thing that a client does.
type historyClient func(r *historyRun, random *rand.Rand, client int)

// historyClients are the clients of a history.
func historyClients(r *historyRun) []historyClient {
	clients := []historyClient{
		cast, r.partners.administer, r.partners.use, r.partners.use, read, read, walk, export, r.buyer.buy, r.mirror.follow,
	}
	if r.live != nil {
		clients = append(clients, r.live.change, r.live.look)
	}
	return clients
}

// startClients starts clients, each with random numbers of its own.
func (r *historyRun) startClients(clients ...historyClient) {
	for n, client := range clients {
		random := histories.Client(r.seed, n)
		r.clients.Go(func() {
			for r.ctx.Err() == nil {
				client(r, random, n)
				wait(r.ctx, time.Duration(random.Int64N(int64(maxThink))))
			}
		})
	}
}

// limitWatch notes when a node counts months by itself although nothing was broken, but busy.
type limitWatch struct {
	at    time.Duration
	times float64
}

// look records whether the node did so since the last look.
func (w *limitWatch) look(r *historyRun, n int) {
	now := r.recorder.Now()
	times, err := r.apis[n].metric("pnyx_ratelimit_fallbacks_total")
	if err != nil {
		return
	}
	if times > w.times {
		r.recorder.Add(histories.Operation{
			Kind: histories.Fault, Subject: histories.CountsByItself, Node: fmt.Sprint("api", n), Call: w.at, Return: r.recorder.Now(), Redis: true,
		})
	}
	w.at, w.times = now, times
}

// choose chooses an API node to ask, or what is in front of them, which has no name.
func (r *historyRun) choose(random *rand.Rand) (name, base string) {
	n := random.IntN(len(r.apis) + 1)
	if n == len(r.apis) && r.front != "" {
		return "", r.front
	}
	n %= len(r.apis)
	return fmt.Sprint("api", n), r.apis[n].base
}
