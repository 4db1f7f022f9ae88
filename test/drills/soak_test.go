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

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/test/env"
	"pnyx/test/histories"
)

const (
	// soakBallots is how many ballots a soak begins with, unless PNYX_TEST_SOAK_BALLOTS says.
	soakBallots = 200_000
	// soakFaults is the time between two faults, less in a short soak.
	soakFaults = 2 * time.Minute
	// soakLooks is the time between two looks at everything.
	soakLooks = 5 * time.Second
	// soakRecovery bounds the time until everything is as before a fault, on a busy machine.
	soakRecovery = 10 * time.Minute
	// changesStream is the stream of changes in Redis.
	changesStream = cache.Namespace + "{worker}:changes"
)

// soak is a deployment of everything, for hours.
type soak struct {
	*historyRun

	upstreams *soakUpstreams
	edge      *node
	follower  *node
	client    redis.UniversalClient
	conn      driver.Conn

	mu sync.Mutex
	// series are the points of each value, looks the readings since the last point.
	series map[string][]point
	looks  map[string][]float64
	lives  map[string]string
	seen   *soakOutcomes
	faults []string
	// broken is true while something is broken.
	broken bool
}

// TestSoak runs everything for PNYX_TEST_SOAK: reads, pages on demand, walks, exports, payments, tokens with quotas,
// calls of agents, changes, webhooks, imports and live sources, behind an edge, while something breaks every two
// minutes. No answer is wrong, and nothing grows beyond its bound. PNYX_TEST_SOAK_REPORT names the file of what it saw.
func TestSoak(t *testing.T) {
	lasts := lasting(t, "PNYX_TEST_SOAK", "make soak")
	s := openSoak(t)
	ctx, stop := context.WithCancel(context.Background())
	s.ctx = ctx
	t.Cleanup(func() { stop(); s.clients.Wait() })
	s.startClients(s.soakClients()...)
	s.changeUpstreams()
	s.recovers = soakRecovery
	s.run(lasts, stop)
	s.ctx = t.Context()
	s.buyer.settle(s.historyRun)
	s.partners.settle(s.historyRun)
	s.mirror.settle(s.historyRun)
	s.subscriber.settle(s.historyRun)
	s.agree()
	s.seen.wrong = nil
	s.seen.add(s.recorder.Take(ends), false)
	s.reportFailures(nil)
}

// run breaks one thing after another, and reports what was seen, also of a run that is cut off.
func (s *soak) run(lasts time.Duration, stop func()) {
	s.tb.Helper()
	began := time.Now()
	s.clients.Go(func() { s.sample(pointInterval(lasts)) })
	defer func() {
		lasted := time.Since(began)
		stop()
		s.clients.Wait()
		judged := s.judge()
		report := s.report(lasted, judged)
		if path := os.Getenv("PNYX_TEST_SOAK_REPORT"); path != "" {
			env.WantError(s.tb, nil, os.WriteFile(path, []byte(report), 0o600))
		}
		s.tb.Log(report)
		s.reportFailures(judged)
	}()
	s.breakThings(began.Add(lasts), min(soakFaults, lasts/5))
}

// openSoak opens the deployment, and waits until it shows everything.
func openSoak(t *testing.T) *soak {
	t.Helper()
	seed, dir := newSeed(t), t.TempDir()
	w := &dataset{data: filepath.Join(dir, "warehouse"), ballots: soakBallots}
	if text := os.Getenv("PNYX_TEST_SOAK_BALLOTS"); text != "" {
		var err error
		if w.ballots, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	w.fill(t, dir)
	w.free = w.free[1:] // a list of DAOs, to which those are added that are followed
	s := &soak{
		upstreams: startUpstreams(t, rand.New(rand.NewPCG(seed, 0))), seen: newSoakOutcomes(t.Log),
		series: map[string][]point{}, looks: map[string][]float64{}, lives: map[string]string{},
	}
	kind := historyKind{
		name:    "everything",
		options: deploymentOptions{workers: 2, apis: 2, sentinels: true, environ: append(behindEdge(), "PNYX_LOG_SAMPLE=0")},
		faults:  append(sentinelFaults(), processFaults()...),
	}
	s.historyRun = openHistory(t, w, seed, kind)
	s.sparesFirst = true
	s.edge = s.startEdge()
	s.front = s.edge.base
	s.startFollower()
	s.client = env.RedisClient(t, s.sentinels.URL)
	s.conn = env.ConnectWarehouse(t, s.warehouseURL(s.instance().TCPAddr))
	return s
}

// soakClients are the clients of histories, without hurry where they add data, and agents and listeners.
func (s *soak) soakClients() []historyClient {
	var l listener
	return []historyClient{
		rarely(cast, 1500*time.Millisecond), rarely(s.partners.administer, 20*time.Second), s.partners.use, s.partners.use,
		read, read, read, walk, export, rarely(buyAndForget, 2*time.Second), s.mirror.follow, callTool, l.listen,
	}
}

// breakThings breaks one thing after another, each kind once before any comes again, and repairs it.
func (s *soak) breakThings(end time.Time, every time.Duration) {
	s.tb.Helper()
	random := histories.Client(s.seed, -2)
	for next := time.Now().Add(every); ; {
		for _, i := range random.Perm(len(s.kind.faults)) {
			if next.After(end) {
				wait(s.ctx, time.Until(end))
				return
			}
			wait(s.ctx, time.Until(next))
			next = next.Add(every)
			s.setBroken(true)
			s.play(histories.Event{Faults: []int{i}, Lasts: s.kind.faults[i].Lasts}, random)
			s.setBroken(false)
			s.faults = append(s.faults, s.kind.faults[i].Name)
		}
	}
}

func (s *soak) setBroken(broken bool) {
	s.take()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

// take sums up the operations that are over, and forgets them.
func (s *soak) take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.add(s.recorder.Take(ends), s.broken)
}

// ends reports whether an operation is of no use once it is summed up, unlike messages.
func ends(o *histories.Operation) bool { return o.Kind != histories.Deliver }

// sample looks at everything, and adds a point a minute.
func (s *soak) sample(every time.Duration) {
	began, next := time.Now(), time.Now().Add(every)
	probes := s.probes()
	var things, ballots float64
	patientTicker(s.ctx, min(soakLooks, every/3), func() {
		s.take()
		for _, p := range probes {
			r, err := p.read()
			if err != nil {
				continue // it is broken, and will be read when it is not
			}
			if p.name == "ClickHouse" {
				things, ballots = added(r)
			}
			for name, value := range r.values {
				s.look(p.name+" "+name, r.life, value)
			}
		}
		if time.Now().Before(next) {
			return
		}
		next = next.Add(every)
		for name, value := range s.seen.minute() {
			s.look(name, "", value)
		}
		s.addPoints(point{minute: time.Since(began).Minutes(), things: things, ballots: ballots})
	})
}

// look notes a value. What was noted of another life is dropped.
func (s *soak) look(name, life string, value float64) {
	if s.lives[name] != life {
		s.looks[name] = nil
	}
	s.lives[name] = life
	s.looks[name] = append(s.looks[name], value)
}

// addPoints adds a point of each value.
func (s *soak) addPoints(p point) {
	for name, values := range s.looks {
		if len(values) == 0 {
			continue
		}
		p.value, p.life = median(values), s.lives[name]
		if gaugeOf(name).least {
			p.value = smallest(values)
		}
		s.series[name] = append(s.series[name], p)
		s.looks[name] = nil
	}
}

func smallest(values []float64) float64 {
	least := values[0]
	for _, value := range values {
		least = min(least, value)
	}
	return least
}

// String describes the deployment.
func (s *soak) String() string {
	return fmt.Sprintf("%d API nodes, %d workers, a follower, an edge, a pair of Redis with three Sentinels, the engine", len(s.apis), len(s.workers))
}
