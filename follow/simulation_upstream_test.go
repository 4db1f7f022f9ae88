package follow_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/follow/chain"
	"pnyx/follow/forum"
	"pnyx/follow/hub"
	"pnyx/test/env"
	fakechain "pnyx/test/upstream/chain"
	fakeforum "pnyx/test/upstream/forum"
	fakehub "pnyx/test/upstream/hub"
	"pnyx/warehouse"
)

const (
	// simulatedGovernors is their number on each chain, simulatedTopics the number in each forum at the
	// start: most are older than a month.
	simulatedGovernors, simulatedTopics = 25, 20
	// A space has one open proposal, which ends within a week.
	simulatedVoting = 7 * 24 * time.Hour
	// What the present brings, a day: 4,320 ballots at the hub, 120 on each chain, and on
	// each forum 4 posts, half of them new topics. Ballots come in fives, as they do when
	// somebody calls for them: each five costs a write.
	hubBallotsEvery, chainBallotsEvery, postEvery = 100 * time.Second, time.Hour, 6 * time.Hour
	reorganizationEvery, ballotsAtOnce            = time.Hour, 5
)

// simulatedSize is how many spaces of a hub, chains and forums are simulated.
type simulatedSize struct{ spaces, chains, forums int }

// simulation is many DAOs, whose upstream systems answer within the process.
type simulation struct {
	simulatedSize

	tb     testing.TB
	time   *simulatedTime
	clock  *clock.Clock
	random *rand.Rand
	client *fetch.Client

	hub       *fakehub.Hub
	proposals map[string]time.Time // those that are open, with their ends
	ids       []string
	upChains  []*fakechain.Chain
	upForums  []*fakeforum.Forum
	handlers  map[string]http.Handler

	// busy says that people vote and write.
	busy bool
	// due are the times of the next ballots at the hub, on a chain, of the next
	// reorganization and of the next post.
	due [4]time.Time
	// hubBallots, chainBallots and topics count what was added.
	hubBallots, chainBallots, topics int
	// started is the time of the first block of each chain, and pending are the logs of its
	// next block.
	started time.Time
	pending [][]fakechain.Log

	mu                sync.Mutex
	requests, refused map[string]int
}

func newSimulation(tb testing.TB, w *warehouse.Warehouse, size simulatedSize) *simulation {
	tb.Helper()
	busy := &busyConnections{Registry: prometheus.NewRegistry()}
	w.Instrument(busy, nil)
	s := &simulation{
		simulatedSize: size, tb: tb, pending: make([][]fakechain.Log, size.chains), random: rand.New(rand.NewPCG(1, 1)),
		time: &simulatedTime{
			now: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), ended: make(chan struct{}),
			idle: func() bool { return testutil.ToFloat64(busy.gauge) == 0 },
		},
		proposals: map[string]time.Time{}, handlers: map[string]http.Handler{}, requests: map[string]int{}, refused: map[string]int{},
	}
	s.clock = clock.Driven(s.time.Now, s.time.wait)
	s.client = fetch.New(fetch.Options{UserAgent: "simulation", Clock: s.clock, Transport: s, Logger: slog.New(slog.DiscardHandler)})
	s.addHub()
	for n := range size.chains {
		s.addChain(n)
	}
	for n := range size.forums {
		s.addForum(n)
	}
	for i := range s.due {
		s.due[i] = s.time.now
	}
	return s
}

// busyConnections catches the gauge of connections in use.
type busyConnections struct {
	*prometheus.Registry

	gauge prometheus.GaugeFunc
}

// Register implements prometheus.Registerer.
func (b *busyConnections) Register(c prometheus.Collector) error {
	gauge, isGauge := c.(prometheus.GaugeFunc)
	if isGauge && strings.Contains(gauge.Desc().String(), `state="busy"`) {
		b.gauge = gauge
	}
	return b.Registry.Register(c)
}

func (s *simulation) addHub() {
	s.hub = fakehub.New(s.clock)
	s.hub.Set(func(switches *fakehub.Switches) { switches.Limit = 100 })
	s.handlers["hub.example.org"] = s.hub
	now := s.time.now
	for n := range s.spaces {
		space := fmt.Sprintf("space%d.eth", n)
		s.hub.AddSpace(fakehub.Space{ID: space, Name: space, Network: "1", Symbol: "SIM"})
		end := now.Add(simulatedVoting * time.Duration(n+1) / time.Duration(s.spaces))
		id := s.hub.Propose(fakehub.Proposal{
			Space: space, Title: "Proposal of " + space, Choices: []string{"Yes", "No"}, Created: now.Add(-time.Hour), Start: now.Add(-time.Hour), End: end,
		})
		s.proposals[id], s.ids = end, append(s.ids, id)
	}
}

func simulatedGovernor(n int) string { return fmt.Sprintf("0x%040x", 0xaa00+n) }

func (s *simulation) addChain(n int) {
	const past = 24 * time.Hour
	s.started = s.time.now.Add(-past)
	c := fakechain.New(uint64(1000+n), s.started, 65)
	const token = "0x00000000000000000000000000000000000000cc"
	c.Answer(token, "decimals()", nil, uint64(18))
	for g := range simulatedGovernors {
		c.Create(simulatedGovernor(g), 1)
		c.Answer(simulatedGovernor(g), "name()", nil, fmt.Sprintf("Governor %d of %d", g, n))
		c.Answer(simulatedGovernor(g), "token()", nil, fakechain.Hex(token))
		c.Mine(fakechain.Emit(simulatedGovernor(g), createdEvent, 0, uint64(1), fakechain.Hex("0xa1"), nil, nil, nil, nil,
			uint64(100), uint64(1_000_000), "# A proposal"))
	}
	head, _ := c.Head()
	c.MineEmpty(int(past/fakechain.BlockTime) - int(head))
	s.upChains = append(s.upChains, c)
	s.handlers[fmt.Sprintf("chain%d.example.org", n)] = c
}

func (s *simulation) addForum(n int) {
	// The forum is a quarter of a year old: three topics are younger than a month.
	at := s.time.now.AddDate(0, -3, 0)
	clock := func() time.Time {
		if at.IsZero() {
			return s.time.Now()
		}
		return at
	}
	f := fakeforum.New(clock)
	f.AddCategory("Proposals", 0)
	for topic := range simulatedTopics {
		f.Reply(f.AddTopic(1, fmt.Sprint("Topic ", topic), "ada", "<p>one</p>"), "bob", "<p>two</p>")
		at = at.Add(4 * 24 * time.Hour)
	}
	at = time.Time{}
	f.Switch(func(switches *fakeforum.Switches) { switches.Limited = true })
	s.upForums = append(s.upForums, f)
	s.handlers[fmt.Sprintf("forum%d.example.org", n)] = f
}

const createdEvent = "ProposalCreated(uint256,address,address[],uint256[],string[],bytes[],uint256,uint256,string)"

// upstreams returns the real connectors, at the paces of a sources file that states none.
func (s *simulation) upstreams() (all []follow.Upstream) {
	logger := slog.New(slog.DiscardHandler)
	host := func(pace fetch.Pace, format string, args ...any) *fetch.Host {
		address := env.Must(url.Parse(fmt.Sprintf(format, args...)))(s.tb)
		return s.client.Host(address, pace)
	}
	spaces := make([]string, s.spaces)
	for n := range spaces {
		spaces[n] = fmt.Sprintf("space%d.eth", n)
	}
	all = append(all, &hub.Hub{
		Host: host(hub.Pace(false), "https://hub.example.org/graphql"), Spaces: spaces, Clock: s.clock, Logger: logger,
	})
	for n := range s.chains {
		o := chain.Options{
			ChainID: uint64(1000 + n), Clock: s.clock, Logger: logger, Metrics: prometheus.NewRegistry(),
			Endpoints: []*fetch.Host{host(fetch.Pace{Requests: 600, Per: time.Minute, Burst: 20}, "https://chain%d.example.org", n)},
		}
		for g := range simulatedGovernors {
			o.Governors = append(o.Governors, chain.Governor{Address: simulatedGovernor(g)})
		}
		all = append(all, chain.New(o))
	}
	for n := range s.forums {
		name := fmt.Sprintf("forum%d.example.org", n)
		all = append(all, &forum.Forum{Name: name, Host: host(forum.Pace(false), "https://%s", name), Clock: s.clock})
	}
	return all
}

// RoundTrip answers a request within the process, and counts it.
func (s *simulation) RoundTrip(r *http.Request) (*http.Response, error) {
	kind := strings.TrimRight(strings.TrimSuffix(r.URL.Host, ".example.org"), "0123456789")
	r.RemoteAddr = "192.0.2.1:1"
	w := httptest.NewRecorder()
	s.handlers[r.URL.Host].ServeHTTP(w, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[kind]++
	if w.Code == http.StatusTooManyRequests {
		s.refused[kind]++
	}
	return w.Result(), nil
}

// count returns the requests since the last count, and how many were refused.
func (s *simulation) count() (requests, refused map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests, refused = s.requests, s.refused
	s.requests, s.refused = map[string]int{}, map[string]int{}
	return requests, refused
}

func (s *simulation) hosts(kind string) int {
	return map[string]int{"hub": 1, "chain": s.chains, "forum": s.forums}[kind]
}

func (s *simulation) run(length time.Duration) {
	for end := s.time.Now().Add(length); s.time.Now().Before(end); {
		s.time.step(end)
		s.happen(s.time.Now())
	}
}

// happen does what is due: blocks, the ends of votes, ballots, posts.
func (s *simulation) happen(now time.Time) {
	for n, c := range s.upChains {
		for head, _ := c.Head(); !s.started.Add(time.Duration(head+1) * fakechain.BlockTime).After(now); head++ {
			c.Mine(s.pending[n]...)
			s.pending[n] = nil
		}
	}
	for id, end := range s.proposals {
		if now.Sub(end) > time.Minute {
			s.hub.Finalize(id, nil)
			delete(s.proposals, id)
		}
	}
	for i, every := range []time.Duration{hubBallotsEvery, chainBallotsEvery / time.Duration(s.chains), reorganizationEvery, postEvery / time.Duration(s.forums)} {
		for ; !s.due[i].After(now); s.due[i] = s.due[i].Add(every) {
			if s.busy {
				[]func(){s.voteAtHub, s.voteOnChain, s.reorganize, s.post}[i]()
			}
		}
	}
}

func (s *simulation) voteAtHub() {
	id := s.ids[s.random.IntN(len(s.ids))]
	if _, open := s.proposals[id]; !open || s.time.Now().After(s.proposals[id]) {
		return
	}
	for range ballotsAtOnce {
		s.hubBallots++
		env.Must(s.hub.Cast(fakehub.Vote{Proposal: id, Voter: fakehub.Voter(fmt.Sprint(s.hubBallots)), Choice: "1", Power: "1.5"}))(s.tb)
	}
}

func (s *simulation) voteOnChain() {
	n := s.random.IntN(s.chains)
	governor := simulatedGovernor(s.random.IntN(simulatedGovernors))
	for range ballotsAtOnce {
		s.chainBallots++
		s.pending[n] = append(s.pending[n], fakechain.Emit(governor, votedEvent, 1,
			fakechain.Hex(fmt.Sprintf("0x%040x", s.chainBallots)), uint64(1), uint64(1), uint64(5), ""))
	}
}

// reorganize replaces the last block of a chain by one with the same logs.
func (s *simulation) reorganize() {
	c := s.upChains[s.random.IntN(s.chains)]
	c.Reorganize(1, c.Last(1)[0])
}

func (s *simulation) post() {
	f := s.upForums[s.random.IntN(s.forums)]
	if s.random.IntN(2) == 0 {
		f.Reply(1+s.random.IntN(simulatedTopics), "bob", "<p>again</p>")
		return
	}
	s.topics++
	f.AddTopic(1, fmt.Sprint("New ", s.topics), "eve", "<p>new</p>")
}

const votedEvent = "VoteCast(address,uint256,uint8,uint256,string)"

// simulatedKind is a kind of item whose lag is measured.
type simulatedKind struct {
	name string
	cast int
	// lags is the SQL of the number of items since a time, and of the median, 99 % and
	// maximum of the seconds until they were stored.
	lags string
}

func (s *simulation) kinds() []simulatedKind {
	const lags = "SELECT count(), arrayConcat(quantilesExact(0.5, 0.99)(lag), [max(lag)]) FROM (SELECT dateDiff('ms', assumeNotNull(%s), min(discovered_at)) / 1000 AS lag FROM %s WHERE %s >= ? %s GROUP BY %s)"
	return []simulatedKind{
		{"ballots at the hub", s.hubBallots, fmt.Sprintf(lags, "any(voted_at)", "ballots", "voted_at", "AND provider = 'snapshot'", "vote_id")},
		{"ballots on chains", s.chainBallots, fmt.Sprintf(lags, "any(voted_at)", "ballots", "voted_at", "AND provider = 'governor'", "proposal_ref, vote_id")},
		{"topics on forums", s.topics, fmt.Sprintf(lags, "any(created_at)", "topics", "created_at", "", "host, external_id")},
	}
}
