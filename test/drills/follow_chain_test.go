package drills

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/test/upstream/chain"
)

const (
	drilledGovernor = "0x00000000000000000000000000000000000000aa"
	drilledToken    = "0x00000000000000000000000000000000000000cc"
	drilledSource   = "eip155:7:" + drilledGovernor
	// drilledFinality is the depth at which a block is final, maxDepth the depth of a reorganization.
	drilledFinality, maxDepth = 20, 6
)

// drilledChain is a chain with a Governor and two endpoints, whose last blocks are replaced while people vote.
type drilledChain struct {
	*chain.Chain

	endpoints [2]*chain.Endpoint

	mu sync.Mutex
	// pending are the logs of the next block, proposals the number of those proposed.
	pending   []chain.Log
	proposals int
	started   time.Time
}

// castVote and proposed are what a log states.
type castVote struct {
	proposal int
	voter    chain.Hex
	support  int
	power    *big.Int
}

type proposed struct{ proposal int }

func newDrilledChain() *drilledChain {
	const past = 300
	c := &drilledChain{started: time.Now().Add(-past * time.Second)}
	c.Chain = chain.New(7, c.started, drilledFinality)
	c.Pace(time.Second)
	c.Create(drilledGovernor, 1)
	c.Answer(drilledGovernor, "name()", nil, "Reef Governor")
	c.Answer(drilledGovernor, "COUNTING_MODE()", nil, "support=bravo&quorum=for,abstain")
	c.Answer(drilledGovernor, "token()", nil, chain.Hex(drilledToken))
	c.Answer(drilledToken, "decimals()", nil, uint64(18))
	for i := range c.endpoints {
		c.endpoints[i] = c.AnotherEndpoint()
	}
	for range 3 {
		c.propose()
	}
	c.mine()
	for n := range uint64(past / 2) {
		c.vote(rand.New(rand.NewPCG(n, 1)))
		c.mine()
	}
	return c
}

func (*drilledChain) every() time.Duration { return 300 * time.Millisecond }

// change casts a vote or proposes, mines the blocks that are due, and now and then replaces the last ones.
func (c *drilledChain) change(random *rand.Rand) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch dice := random.IntN(200); {
	case dice < 2:
		c.propose()
	case dice < 6:
		c.reorganize(random)
	default:
		c.vote(random)
	}
	c.mineDue()
	return nil
}

// mineDue mines the blocks of the time that has passed, the first with what is pending.
func (c *drilledChain) mineDue() {
	for {
		head, _ := c.Head()
		if c.started.Add(time.Duration(head+1) * time.Second).After(time.Now()) {
			return
		}
		c.mine()
	}
}

// goOn mines blocks until the end of the test, also while nobody votes.
func (c *drilledChain) goOn(tb testing.TB) {
	tb.Helper()
	next, ended := time.NewTicker(time.Second), make(chan struct{})
	var mining sync.WaitGroup
	mining.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-next.C:
				c.mu.Lock()
				c.mineDue()
				c.mu.Unlock()
			}
		}
	})
	tb.Cleanup(func() { next.Stop(); close(ended); mining.Wait() })
}

func (c *drilledChain) mine() {
	c.Mine(c.pending...)
	c.pending = nil
}

func (c *drilledChain) propose() {
	c.proposals++
	head, _ := c.Head()
	l := chain.Emit(drilledGovernor, "ProposalCreated(uint256,address,address[],uint256[],string[],bytes[],uint256,uint256,string)", 0,
		uint64(c.proposals), chain.Hex("0xa1"), nil, nil, nil, nil, head, head+1_000_000, fmt.Sprintf("# Reef %d", c.proposals))
	l.Note = proposed{c.proposals}
	c.pending = append(c.pending, l)
}

// vote casts a vote of somebody who has not voted on a proposal that stands.
func (c *drilledChain) vote(random *rand.Rand) {
	truth := c.truth(c.pending)
	var ids []int
	for id := range truth {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		return
	}
	id := ids[random.IntN(len(ids))]
	voter := chain.Hex(fmt.Sprintf("0x%040x", 1+random.IntN(1<<12)))
	if _, hasVoted := truth[id][voter]; hasVoted {
		return
	}
	v := castVote{id, voter, random.IntN(3), new(big.Int).Mul(big.NewInt(1+random.Int64N(1_000_000)), big.NewInt(1_000_000_000_007))}
	c.pending = append(c.pending, v.log())
}

func (v castVote) log() chain.Log {
	l := chain.Emit(drilledGovernor, "VoteCast(address,uint256,uint8,uint256,string)", 1, v.voter, uint64(v.proposal), uint64(v.support), v.power, "")
	l.Note = v
	return l
}

// reorganize replaces the last blocks: most shows up in others, some is lost, some votes change sides.
func (c *drilledChain) reorganize(random *rand.Rand) {
	depth := 1 + random.IntN(maxDepth)
	instead := make([][]chain.Log, depth)
	for _, logs := range c.Last(depth) {
		for _, l := range logs {
			at := random.IntN(depth)
			v, isVote := l.Note.(castVote)
			switch dice := random.IntN(10); {
			case !isVote:
				instead[0] = append([]chain.Log{l}, instead[0]...) // before the votes on it
				continue
			case dice == 0:
				continue
			case dice < 3:
				v.support = (v.support + 1) % 3
				l = v.log()
			}
			instead[at] = append(instead[at], l)
		}
	}
	c.Reorganize(depth, instead...)
}

// truth returns the votes that stand, and votes of further logs, by proposal and voter.
func (c *drilledChain) truth(further []chain.Log) map[int]map[chain.Hex]castVote {
	truth := map[int]map[chain.Hex]castVote{}
	for _, l := range append(c.Standing(), further...) {
		switch stated := l.Note.(type) {
		case proposed:
			truth[stated.proposal] = map[chain.Hex]castVote{}
		case castVote:
			truth[stated.proposal][stated.voter] = stated
		}
	}
	return truth
}

func (c *drilledChain) faults(f *followed) (all []fault) {
	add := func(of *chain.Endpoint, name string, faults chain.Faults) {
		all = append(all, fault{"an endpoint of the chain " + name, func() {
			of.Fail(faults)
			f.pause(10 * time.Second)
			of.Fail(chain.Faults{})
		}})
	}
	for _, e := range c.endpoints {
		add(e, "lacks the last blocks", chain.Faults{Lacks: 4})
		add(e, "goes back", chain.Faults{HeadBack: 3})
		add(e, "cannot call contracts", chain.Faults{NoCalls: true})
		add(e, "refuses ranges", chain.Faults{Logs: func(first, last uint64) *chain.Refusal {
			if last-first < 5 {
				return nil
			}
			return &chain.Refusal{Status: http.StatusBadRequest, Code: -32602, Message: "exceed maximum block range: 5"}
		}})
	}
	// What both endpoints leave out at both looks is lost until the votes are counted: one tells the truth.
	add(c.endpoints[0], "leaves out logs", chain.Faults{Forget: func(number uint64) bool { return number%3 == 0 }})
	return append(all, fault{"the chain's last blocks are replaced again and again", func() {
		for range 5 {
			c.mu.Lock()
			c.reorganize(f.random)
			c.mu.Unlock()
			f.pause(2 * time.Second)
		}
	}})
}

func (*drilledChain) key(id int) string {
	external := drilledSource + "/" + strconv.Itoa(id)
	return string((governance.Identity{DAOID: "reef", Provider: governance.Governor, ExternalID: external}).ProposalKey())
}

func (c *drilledChain) differ(f *followed) error {
	c.mu.Lock()
	c.mineDue()
	truth := c.truth(nil)
	c.mu.Unlock()
	rows, err := f.api.Walk("/v2/proposals?daoId=reef", 100)
	if err != nil {
		return err
	}
	if len(rows) != len(truth) {
		return fmt.Errorf("got %d proposals of the Governor, want %d", len(rows), len(truth))
	}
	for id, votes := range truth {
		want := map[string]drilledBallot{}
		for voter, v := range votes {
			power := decimal.NewFromBigInt(v.power, -18)
			want[string(voter)] = drilledBallot{fmt.Sprintf("%d/%s", id, voter), []string{"against", "for", "abstain"}[v.support], power.String()}
		}
		if err := differFromBallots(f.api, c.key(id), want); err != nil {
			return fmt.Errorf("proposal %d of the Governor: %w", id, err)
		}
	}
	return nil
}

// status is what the data status says of the Governor.
func (*drilledChain) status(f *followed) (s governance.SourceStatus, err error) {
	var all struct{ Sources []governance.SourceStatus } // beside the rest
	if _, err = f.api.Read("/v2/meta/data-status?daoId=reef", &all); err != nil {
		return s, err
	}
	at := slices.IndexFunc(all.Sources, func(s governance.SourceStatus) bool { return s.SourceID == drilledSource })
	if at < 0 {
		return s, fmt.Errorf("the data status of reef has no source %s", drilledSource)
	}
	return all.Sources[at], nil
}

// countGaps has the preferred endpoint leave out votes, until the second look has found each once.
func (c *drilledChain) countGaps(f *followed) {
	f.tb.Helper()
	before := env.Must(c.status(f))(f.tb)
	c.mu.Lock()
	head, _ := c.Head()
	c.endpoints[0].Fail(chain.Faults{Forget: func(number uint64) bool { return number > head }})
	const missed = 5
	for n := range missed {
		c.pending = append(c.pending, castVote{1, chain.Hex(fmt.Sprintf("0x%040x", 1<<20+n)), 1, big.NewInt(7)}.log())
	}
	c.mine()
	c.mu.Unlock()
	env.Within(f.tb, settleTimeout, func() error {
		if err := c.differ(f); err != nil {
			return err
		}
		now, err := c.status(f)
		if err == nil && now.Gaps != before.Gaps+missed {
			err = fmt.Errorf("got %d gaps, want %d more than %d", now.Gaps, missed, before.Gaps)
		}
		return err
	})
	c.endpoints[0].Fail(chain.Faults{})
}

// standStill takes both endpoints down, and waits until the data status says so.
func (c *drilledChain) standStill(f *followed) {
	f.tb.Helper()
	down := time.Now()
	for _, g := range f.gateways[chainGateway:][:len(c.endpoints)] {
		g.fail(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "502", http.StatusBadGateway) })
		defer g.fail(nil)
	}
	env.Within(f.tb, settleTimeout, func() error {
		s, err := c.status(f)
		if err != nil {
			return err
		}
		if s.State == governance.SourceLive || s.ReadThroughAt == nil || s.ReadThroughAt.Time().After(down) || s.NextAttemptAt == nil {
			text, _ := json.Marshal(s) //nolint:errchkjson // an error message
			return fmt.Errorf("got %s, want one that cannot be read since %s", text, down)
		}
		return nil
	})
}
