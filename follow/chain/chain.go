// Package chain follows Governor contracts on EVM chains over JSON-RPC.
//
// Every log of a followed Governor is stored. Proposals and ballots are computed from the
// logs of a proposal and of a voter, together with what calls to the contract say: quorum,
// state, decimals. A new, replaced or withdrawn log computes them again; what no log states
// any more is written once more as withdrawn. So votes in parts add up, milestones are a
// set, and a reorganization is logs of replaced blocks withdrawn and others appended.
//
// Four pollers read a chain, and a fifth asks for names. tip reads each new block. final reads blocks again once they
// are final, from another endpoint where there is one, and mends what the first look missed. backfill reads the past
// of each Governor, the newest blocks first, each twice. state asks contracts for what changes without a log, and
// compares the votes of proposals that have ended with their count.
package chain

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/telemetry"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// Pollers of a chain, as cursors name them.
const (
	pollerTip      = "tip"
	pollerFinal    = "final"
	pollerBackfill = "backfill"
	pollerState    = "state"
)

// The times between two polls: of the head, so that a vote shows within 5 s, of the final block, of the past after a
// failure or at its end, and of what changes without a log.
const (
	defaultInterval  = 2 * time.Second
	finalInterval    = 30 * time.Second
	backfillInterval = 30 * time.Second
	stateInterval    = time.Minute
)

// Options describe a chain to follow.
type Options struct {
	// ChainID is the chain id of EIP-155.
	ChainID uint64
	// Endpoints are the JSON-RPC endpoints of the chain, the preferred one first. There is at
	// least one. With several, a block is read the second time from another one.
	Endpoints []*fetch.Host
	// ClockChainID and ClockEndpoints are of the chain whose blocks the Governors' clocks count; empty
	// for this chain. Contracts on Arbitrum see the blocks of Ethereum.
	ClockChainID   uint64
	ClockEndpoints []*fetch.Host
	Governors      []Governor
	// Delegations has the tokens of the Governors followed too: delegations, powers, and the supply.
	Delegations bool
	// Tokens are further tokens to follow, Registries those in which holders name delegates by space.
	Tokens     []string
	Registries []Registry
	// NameRegistry is the registry of the Ethereum Name Service; empty where names are not read.
	NameRegistry string
	// Finality is the number of blocks after which one is final; 0 for what the endpoint says
	// by its tag, or else a number that depends on the chain.
	Finality uint64
	// Interval is the time between two polls of the head; 0 for two seconds.
	Interval time.Duration
	// Clock is nil for the system's.
	Clock *clock.Clock
	// Logger receives a line for each reorganization and gap.
	Logger  *slog.Logger
	Metrics prometheus.Registerer
}

// Governor is a contract to follow.
type Governor struct {
	// Address is 20 bytes in hexadecimal, in any case.
	Address string
	// Timelock is the address of the timelock; empty for the one that the contract names.
	Timelock string
	// FirstBlock is the block of the contract's creation; nil to search for it.
	FirstBlock *uint64
	// Token is the address of the token; empty for the one that the contract names.
	Token string
}

// SourceID returns the id of a Governor as a source: eip155:<chain>:<address in lower case>.
func SourceID(chainID uint64, address string) string {
	return fmt.Sprintf("eip155:%d:%s", chainID, strings.ToLower(address))
}

// Chain follows the Governors of one chain. It implements follow.Upstream.
type Chain struct {
	Options

	client *client
	// clockClient asks the chain whose blocks the Governors' clocks count.
	clockClient *client
	governors   []*governor
	metrics     *metrics

	// journal is set by Pollers.
	journal *follow.Journal

	// observed is when proposals were last asked about, unobserved when that failed: for the poller of states alone.
	observed, unobserved map[record.RefHash]time.Time
	// apart has the Governors whose counts, final or of open votes, the poller of states asks for by themselves.
	apart map[countOf]bool

	// unsure is true while what is held may lack something that noteLacking has not said.
	unsure atomic.Bool

	// writing orders what pollers write: logs, and the records computed from them.
	writing sync.Mutex
	// began is true once position holds what the warehouse knows. mu guards both, and the notes of Governors.
	mu       sync.Mutex
	began    bool
	position position
}

// New returns a chain to follow.
func New(o Options) *Chain {
	c := &Chain{Options: o, metrics: newMetrics(o), observed: map[record.RefHash]time.Time{}, unobserved: map[record.RefHash]time.Time{}, apart: map[countOf]bool{}}
	c.client = newClient(o.ChainID, o.Endpoints, o.Clock, c.metrics.requests)
	c.clockClient = c.client
	if len(o.ClockEndpoints) > 0 {
		c.clockClient = newClient(o.ClockChainID, o.ClockEndpoints, o.Clock, c.metrics.requests)
	}
	c.governors = warehouse.Values(o.Governors, func(g Governor) *governor { return newGovernor(o.ChainID, g, nil) })
	return c
}

// newGovernor returns a contract of a chain; of is nil for a Governor.
func newGovernor(chainID uint64, g Governor, of *delegating) *governor {
	address := strings.ToLower(g.Address)
	return &governor{
		Governor: g, address: address, delegating: of, notes: map[string]*note{}, changes: map[eventKind][]uint64{},
		source: record.SourceRef{Provider: governance.Governor, ID: SourceID(chainID, address)},
	}
}

// ID returns eip155:<chain>.
func (c *Chain) ID() string { return "eip155:" + strconv.FormatUint(c.ChainID, 10) }

// Sources returns the followed Governors.
func (c *Chain) Sources() []record.SourceRef {
	return warehouse.Values(c.Governors, func(g Governor) record.SourceRef {
		return record.SourceRef{Provider: governance.Governor, ID: SourceID(c.ChainID, g.Address)}
	})
}

// Pollers returns the pollers of the chain; see the package comment.
func (c *Chain) Pollers(journal *follow.Journal) []follow.Poller {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.journal, c.began = journal, false
	for _, g := range c.governors { // another process may have led, and read what changed
		g.mu.Lock()
		g.facts.probed = false
		g.mu.Unlock()
	}
	c.unsure.Store(true)
	pollers := []follow.Poller{
		{Name: pollerTip, Interval: cmp.Or(c.Interval, defaultInterval), Run: c.poller(tip{c}.pollTip)},
		{Name: pollerFinal, Interval: finalInterval, Run: c.poller(c.pollFinal)},
		{Name: pollerBackfill, Interval: backfillInterval, Run: c.poller(backfiller{c}.pollBackfill)},
		{Name: pollerState, Interval: stateInterval, Run: c.poller(c.pollState)},
	}
	if c.NameRegistry != "" {
		pollers = append(pollers, names{c}.poller(journal))
	}
	return pollers
}

// poller returns a poller's Run: it begins the chain, then polls.
func (c *Chain) poller(poll func(context.Context) (bool, error)) func(context.Context) (bool, error) {
	return func(ctx context.Context) (more bool, err error) {
		if err = c.begin(ctx); err == nil {
			more, err = poll(ctx)
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", c.ID(), err)
		}
		return more, nil
	}
}

// filterOf returns the addresses of some Governors and their timelocks, whose logs are all read: an unknown event may
// state a proposal or a vote. Of tokens and registries, which have many others, statements alone are.
func filterOf(governors []*governor) (f filter) {
	for _, g := range governors {
		if g.delegating != nil {
			f.delegating = append(f.delegating, g.address)
			continue
		}
		f.addresses = append(f.addresses, g.addresses()...)
	}
	slices.Sort(f.addresses)
	f.addresses = slices.Compact(f.addresses)
	return f
}

// emitters returns the Governors that a log of an address is about: the Governor, or those whose timelock it is.
func (c *Chain) emitters(address string) []*governor {
	return slices.DeleteFunc(slices.Clone(c.governors), func(g *governor) bool {
		return g.delegating != nil || !slices.Contains(g.addresses(), address)
	})
}

type metrics struct {
	reorgs   prometheus.Observer
	gaps     prometheus.Counter
	span     prometheus.Gauge
	requests *prometheus.CounterVec
}

// newMetrics registers metrics: the chain of a sources file that was read again goes on with those before.
func newMetrics(o Options) *metrics {
	chain := strconv.FormatUint(o.ChainID, 10)
	return &metrics{
		reorgs: telemetry.Histograms(o.Metrics, prometheus.HistogramOpts{
			Name: "pnyx_follow_chain_reorganization_blocks", Help: "Reorganizations by the number of blocks that were replaced.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64},
		}, "chain").WithLabelValues(chain),
		gaps:     telemetry.Counters(o.Metrics, "pnyx_follow_chain_gaps_total", "Logs missing from the first read of their block.", "chain").WithLabelValues(chain),
		span:     telemetry.Gauges(o.Metrics, "pnyx_follow_chain_range_blocks", "Blocks that the last eth_getLogs asked for.", "chain").WithLabelValues(chain),
		requests: telemetry.Counters(o.Metrics, "pnyx_follow_chain_calls_total", "JSON-RPC calls by method.", "chain", "method").MustCurryWith(prometheus.Labels{"chain": chain}),
	}
}
