package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"pnyx/governance"
	"pnyx/test/upstream/chain"
	"pnyx/test/upstream/hub"
)

// followRows measures how long upstream systems are followed from nothing until everything is stored.
func followRows() []Row {
	var spaces, governor following
	return []Row{
		{
			ID: "follow-hub-first", Name: "following a hub of 31 spaces from nothing, 100 requests a minute: first DAO whole",
			Baseline: "its requests at that limit", Unit: "s", Value: AtMost(60), Rounds: 1, Prepare: spaces.row(followHub, func(f *following) Sides {
				return Sides{seconds(f.first), seconds(f.requests * 60 / hubLimit)}
			}),
		},
		{
			ID: "follow-hub-whole", Name: "the same: all DAOs whole", Baseline: "the requests at that limit", Unit: "s", Value: AtMost(360), Rounds: 1,
			Prepare: spaces.row(followHub, func(f *following) Sides { return Sides{seconds(f.all), seconds(f.requests * 60 / hubLimit)} }),
		},
		{
			ID:       "follow-governor",
			Name:     "following a Governor of 400 proposals and 200,000 votes from nothing, 10,000 blocks a request, 600 requests a minute: whole",
			Baseline: "its requests at that limit", Unit: "s", Ratio: AtMost(1.2), Rounds: 1, Prepare: governor.row(followGovernor, func(f *following) Sides {
				return Sides{seconds(f.all), seconds(f.requests * 60 / nodeLimit)}
			}),
		},
		{
			ID: "follow-delegations", Name: "following a token of ten million delegation events (quick: one million) from nothing", Baseline: "reading its logs once, storing nothing",
			Unit: "events/s", Rounds: 1, Prepare: followDelegations,
		},
	}
}

const (
	// hubLimit and nodeLimit are how many requests a minute upstream systems allow.
	hubLimit, nodeLimit = 100, 600
	// spacesOfHub, proposalsOfHub and votesOfHub are the size of the hub, the largest space having a quarter.
	spacesOfHub, proposalsOfHub, votesOfHub = 31, 3_600, 164_000
	// openOf is of how many proposals one is open.
	openOf = 100
	// governorBlocks, governorProposals and governorVotes are the size of the Governor.
	governorBlocks, governorProposals, governorVotes = 500_000, 400, 200_000
	// delegationEvents is the number of events of the token, and quickEvents that of a quick run.
	delegationEvents, quickEvents = 10_000_000, 1_000_000
	// blocksPerRequest is how many blocks a node reads for one request.
	blocksPerRequest = 10_000
)

func seconds(figure float64) Measure {
	return func(context.Context) float64 { return figure }
}

type following struct {
	done bool
	// first and all are when the first and the last DAO were whole, in seconds; requests counts the requests.
	first, all, requests float64
}

// row follows once for all rows of a run.
func (f *following) row(
	follow func(context.Context, *Environment, *following), sides func(*following) Sides,
) func(context.Context, *Environment) Sides {
	return func(ctx context.Context, e *Environment) Sides {
		if !f.done {
			follow(ctx, e, f)
			f.done = true
		}
		return sides(f)
	}
}

// startFollowing starts an instance that follows the sources of a file, from nothing.
func startFollowing(e *Environment, sources string) *served {
	dir := e.temporary("follow-")
	file := filepath.Join(dir, "sources.yaml")
	mustDo(os.WriteFile(file, []byte(sources), 0o600))
	s := e.serveAt(dir, []string{"PNYX_SOURCES=" + file})
	e.Undo(s.process.stop)
	return s
}

// until follows the DAOs of a file until all are whole.
func (f *following) until(ctx context.Context, e *Environment, sources string, votes map[string]int) error {
	began := time.Now()
	s := startFollowing(e, sources)
	whole := map[string]bool{}
	return s.process.until(ctx, func() error {
		wait(time.Second / 2)
		for id, want := range votes {
			if whole[id] {
				continue
			}
			var dao struct{ Data governance.DAODetail }
			err := read(ctx, s.base+"/v2/daos/"+id, e.internal(), &dao)
			if err != nil || string(dao.Data.Participation.TotalVotes) != fmt.Sprint(want) {
				continue
			}
			whole[id] = true
			if f.all = time.Since(began).Seconds(); len(whole) == 1 {
				f.first = f.all
			}
		}
		if len(whole) < len(votes) {
			return fmt.Errorf("%d of %d DAOs are whole", len(whole), len(votes))
		}
		return nil
	})
}

func followHub(ctx context.Context, e *Environment, f *following) {
	upstream, votes := hub.New(nil), map[string]int{}
	upstream.Set(func(s *hub.Switches) { s.Limit = hubLimit })
	file := []string{fmt.Sprintf("contact: ops@example.org\nsnapshot: {url: %s/graphql}\ndaos:", e.listen(upstream))}
	now := time.Now()
	for n := range spacesOfHub {
		id := fmt.Sprintf("space%d", n)
		space := id + ".eth"
		file = append(file, fmt.Sprintf("- {id: %s, name: Space %d, snapshot: [%s]}", id, n, space))
		upstream.AddSpace(hub.Space{ID: space, Name: id, Network: "1", Symbol: "SPC"})
		proposals := proposalsOfHub / 4 / (n + 1)
		for p := range proposals {
			end := -time.Hour
			if p%openOf == 0 {
				end = time.Hour
			}
			proposal := upstream.Propose(hub.Proposal{
				Space: space, Title: fmt.Sprintf("Proposal %d of %s", p, space), Choices: []string{"For", "Against"},
				Created: now.Add(-5 * 24 * time.Hour), Start: now.Add(-5 * 24 * time.Hour), End: now.Add(end),
			})
			each := votesOfHub / proposalsOfHub
			mustDo(upstream.Burst(proposal, each, now.Add(-4*24*time.Hour-time.Duration(p)*time.Minute)))
			if end < 0 {
				upstream.Finalize(proposal, nil)
			}
			votes[id] += each
		}
	}
	err := f.until(ctx, e, strings.Join(file, "\n"), votes)
	f.requests = float64(upstream.Requests()[""])
	fmt.Fprintf(e.Log, "  %v\n", upstream.Requests())
	mustDo(err)
}

const governorAddress, tokenAddress = "0x00000000000000000000000000000000000000aa", "0x00000000000000000000000000000000000000cc"

// governorSources is a file that follows the Governor.
func governorSources(url string, limit int) string {
	return fmt.Sprintf("contact: ops@example.org\nchains: {'eip155:1': {rpc: [%s], requestsPerMinute: %d}}\n"+
		"daos:\n- {id: harbor, name: Harbor, governors: ['eip155:1:%s']}\n", url, limit, governorAddress)
}

// followedChain returns a chain with a Governor, whose node reads a number of blocks for each request.
func followedChain() *chain.Chain {
	c := chain.New(1, time.Now().Add(-governorBlocks*chain.BlockTime), 64)
	c.Fail(chain.Faults{Logs: func(first, last uint64) *chain.Refusal {
		if last-first < blocksPerRequest {
			return nil
		}
		return &chain.Refusal{Code: -32602, Message: fmt.Sprintf("eth_getLogs is limited to a %d range", blocksPerRequest)}
	}})
	c.Create(governorAddress, 1)
	c.Create(tokenAddress, 1)
	c.Answer(governorAddress, "name()", nil, "Harbor Governor")
	c.Answer(governorAddress, "COUNTING_MODE()", nil, "support=bravo&quorum=for,abstain")
	c.Answer(governorAddress, "token()", nil, chain.Hex(tokenAddress))
	c.Answer(tokenAddress, "decimals()", nil, uint64(18))
	return c
}

// governorInterval is the number of blocks between two proposals.
const governorInterval = governorBlocks / governorProposals

// proposed is a proposal of a block, on which votes are cast until the next one.
func proposed(number, block uint64) chain.Log {
	return chain.Emit(governorAddress, "ProposalCreated(uint256,address,address[],uint256[],string[],bytes[],uint256,uint256,string)", 0, number,
		chain.Hex("0xa1"), nil, nil, nil, nil, block+1, block+governorInterval-1, fmt.Sprintf("# Proposal %d", number))
}

func followGovernor(ctx context.Context, e *Environment, f *following) {
	c := followedChain()
	const voters = governorVotes / governorProposals
	for block := uint64(1); block < governorBlocks; block++ {
		var logs []chain.Log
		if number := block / governorInterval; block%governorInterval == 1 {
			logs = append(logs, proposed(number+1, block))
		} else if place := block % governorInterval; place > 1 && place <= voters+1 {
			power := new(big.Int).Mul(big.NewInt(int64(place)), big.NewInt(1_000_000_000_000_000_007))
			logs = append(logs, chain.Emit(governorAddress, "VoteCast(address,uint256,uint8,uint256,string)", 1,
				chain.Hex(fmt.Sprintf("0x%040x", place)), number+1, place%3, power, ""))
		}
		c.Mine(logs...)
	}
	var requests atomic.Int64
	node := e.listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { requests.Add(1); c.ServeHTTP(w, r) }))
	err := f.until(ctx, e, governorSources(node, nodeLimit), map[string]int{"harbor": governorVotes})
	f.requests = float64(requests.Load())
	fmt.Fprintf(e.Log, "  %d requests, %d for logs\n", requests.Load(), c.Calls("eth_getLogs"))
	mustDo(err)
}

// followDelegations measures until the oldest event of a token shows, the past being read from its end.
func followDelegations(ctx context.Context, e *Environment) Sides {
	const oldest = "0x00000000000000000000000000000000000000ee"
	events := uint64(delegationEvents)
	if e.Quick {
		events = quickEvents
	}
	c := followedChain()
	delegate := func(n uint64) chain.Hex { return chain.Hex(fmt.Sprintf("0xd%039x", n%20_000)) }
	for block := uint64(1); block < governorBlocks; block++ {
		var logs []chain.Log
		if block == 2 {
			logs = append(logs, proposed(1, block),
				chain.Emit(tokenAddress, "DelegateChanged(address,address,address)", 3, chain.Hex(oldest), chain.Hex("0x0"), delegate(0)))
		}
		for n := range events / governorBlocks / 2 {
			n += block * events / governorBlocks / 2
			logs = append(logs,
				chain.Emit(tokenAddress, "DelegateChanged(address,address,address)", 3, chain.Hex(fmt.Sprintf("0xe%039x", n%1_000_000)), delegate(n), delegate(n/3)),
				chain.Emit(tokenAddress, "DelegateVotesChanged(address,uint256,uint256)", 1, delegate(n/3), n, n+1))
		}
		c.Mine(logs...)
	}
	node, ended := e.listen(c), make(chan struct{})
	e.Undo(func() error { close(ended); return nil })
	go func() {
		for next := time.Tick(chain.BlockTime); ; c.Mine() {
			select {
			case <-next:
			case <-ended:
				return
			}
		}
	}()
	return Sides{
		Pnyx: func(ctx context.Context) float64 {
			s := startFollowing(e, governorSources(node, 60_000))
			began := time.Now()
			mustDo(s.process.until(ctx, func() error {
				wait(time.Second)
				_, body, err := get(ctx, s.base+"/v2/voters/"+oldest+"/delegations", e.internal())
				if err == nil && !bytes.Contains(body, []byte(`"delegateIdentity"`)) {
					err = fmt.Errorf("got %s", body)
				}
				return err
			}))
			rate := float64(events) / time.Since(began).Seconds()
			delegationFigures(ctx, e, s)
			return rate
		},
		Baseline: func(ctx context.Context) float64 {
			began := time.Now()
			for first := 0; first < governorBlocks; first += blocksPerRequest {
				body := fmt.Sprintf(`{"id":1,"method":"eth_getLogs","params":[{"address":["%s"],"fromBlock":"0x%x","toBlock":"0x%x"}]}`,
					tokenAddress, first, first+blocksPerRequest-1)
				response := must(http.Post(node, "application/json", strings.NewReader(body))) //nolint:noctx,bodyclose,gosec // of a row; closed below
				var answer struct{ Result []struct{ Data string } }
				mustDo(errors.Join(json.NewDecoder(response.Body).Decode(&answer), response.Body.Close()))
			}
			return float64(events) / time.Since(began).Seconds()
		},
	}
}

// delegationFigures logs what the delegations of an instance take on disk, and how long their pages take.
func delegationFigures(ctx context.Context, e *Environment, s *served) {
	conn := connectTo(s.dir)
	defer conn.Close()
	for _, table := range []string{"delegations", "delegate_power"} {
		var rows, size uint64
		mustDo(conn.QueryRow(ctx, "SELECT sum(rows), sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase() AND table = ?",
			table).Scan(&rows, &size))
		fmt.Fprintf(e.Log, "  %s: %d rows, %.0f bytes a row\n", table, rows, float64(size)/float64(max(rows, 1)))
	}
	for _, path := range []string{
		"/v2/daos/harbor/delegates?limit=50", "/v2/daos/harbor/delegates?limit=49&order=delegators",
		fmt.Sprintf("/v2/voters/0xd%039x/delegations?limit=50", 1),
	} {
		began := time.Now()
		status, _ := must2(get(ctx, s.base+path, e.internal()))
		fmt.Fprintf(e.Log, "  %s: %d in %s\n", path, status, time.Since(began).Round(time.Millisecond))
	}
}
