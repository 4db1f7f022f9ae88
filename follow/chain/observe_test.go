package chain_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/clock"
	"pnyx/follow/chain"
	"pnyx/governance"
	"pnyx/test/env"
	fake "pnyx/test/upstream/chain"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// lacking is a node that does not have some methods. Calls in somebody's name are "eth_call from".
func lacking(node http.Handler, methods ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if bytes.HasPrefix(body, []byte("[")) {
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch requests are not allowed"}}`)
			return
		}
		var asked struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if err := json.Unmarshal(body, &asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if asked.Method == "eth_call" && bytes.Contains(asked.Params, []byte(`"from"`)) {
			asked.Method += " from"
		}
		for _, method := range methods {
			if asked.Method == method {
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"the method %s does not exist"}}`, asked.ID, method)
				return
			}
		}
		forwarded := httptest.NewRequestWithContext(r.Context(), r.Method, "/", bytes.NewReader(body))
		forwarded.Header = r.Header
		node.ServeHTTP(w, forwarded)
	})
}

func outlineOf(s *governance.DossierSimulation) string {
	if s == nil {
		return "none"
	}
	text := func(of *string) string {
		if of == nil {
			return "-"
		}
		return *of
	}
	var moved []string
	for _, m := range s.Transfers {
		moved = append(moved, string(m.Units))
	}
	return fmt.Sprintf("%s by %s: %s; %d calls, moved %s", s.Result, text(s.Method), text(s.Reason), len(s.Calls), strings.Join(moved, "+"))
}

// Nodes simulate what a proposal executes as they can; what succeeded and fails later is told as both.
func TestLongProposalsAreSimulated(t *testing.T) {
	t.Parallel()
	evm, _ := startEVM(t, "play", fmt.Sprint(fakeChain))
	evm.Play() // proposes
	view := evm.Play()
	at := 0
	for i, g := range view.Governors {
		if g.Name == "super" {
			at = i
		}
	}
	super := view.Governors[at]
	now := clock.Stepping(time.Unix(view.Time, 0))
	follow := func(node http.Handler) *follower {
		f := newFollower(t)
		f.endpoints, f.governors, f.clock = []http.Handler{node}, []chain.Governor{{Address: super.Address}}, now
		f.start()
		f.Poll("tip", "backfill", "final", "state", "state")
		return f
	}
	seen := func(f *follower) records.Observation {
		ref := record.ProposalRef{Provider: governance.Governor, ExternalID: chain.SourceID(fakeChain, super.Address) + "/" + super.Proposals[0].ID}.Hash()
		found := env.Must(records.Observations(t.Context(), f.warehouse, []record.RefHash{ref}))(t)
		return found[ref]
	}
	const noSimulation, noCalls = "eth_simulateV1", "eth_call from"
	nodes := []struct {
		name          string
		f             *follower
		before, after string
	}{
		{"a node that simulates", follow(evm.Node), "success by eth_simulateV1: -; 2 calls, moved 7+5", "revert by eth_simulateV1: call 1: error 0xfb8f41b2; 2 calls, moved 7"},
		{"a node that calls", follow(lacking(evm.Node, noSimulation)), "success by eth_call: -; 2 calls, moved ", "unknown by eth_call: call 1: error 0xfb8f41b2; 2 calls, moved "},
		{
			"a node that does neither", follow(lacking(evm.Node, noSimulation, noCalls)),
			"unavailable by -: the method eth_call from does not exist; 0 calls, moved ", "unavailable by -: the method eth_call from does not exist; 0 calls, moved ",
		},
	}
	for _, n := range nodes {
		o := seen(n.f)
		if diff := cmp.Diff(n.before, outlineOf(o.Simulation)); diff != "" || o.Earlier != nil {
			t.Errorf("%s, before, earlier %v: %s", n.name, o.Earlier, diff)
		}
		if len(o.Addresses) != 2 || !*o.Addresses[0].Contract || o.Addresses[0].Symbol != "QUAY" || *o.Addresses[0].Decimals != 18 || *o.Addresses[1].Contract {
			t.Errorf("%s: got addresses %+v, want a token and who is paid", n.name, o.Addresses)
		}
	}
	for range 3 {
		view = evm.Play() // at last the holder allows nothing any more, and the execution fails
	}
	now.Step(time.Unix(view.Time, 0).Add(2 * time.Hour).Sub(now.Now()))
	for _, n := range nodes {
		n.f.Poll("tip", "final", "state", "state")
		o := seen(n.f)
		env.WantSame(t, n.name+", after", n.after, outlineOf(o.Simulation))
		if changed := n.before != n.after; changed != (o.Earlier != nil) || changed && outlineOf(o.Earlier) != n.before {
			t.Errorf("%s: before it was %s, want %s", n.name, outlineOf(o.Earlier), n.before)
		}
	}
}

// A proposal may name contracts that answer beyond all bounds.
func TestAProposalOfWhichTooMuchIsAnsweredHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	const plain, huge = "0x00000000000000000000000000000000000000f1", "0x00000000000000000000000000000000000000f2"
	f := newFollower(t)
	f.chain.Answer(huge, "symbol()", nil, strings.Repeat("x", 17<<20))
	calls := func(id uint64, target string) fake.Log {
		return fake.Emit(governorAddress, createdEvent, 0, id, ada, fake.List{fake.Hex(target)}, fake.List{uint64(0)}, fake.List{""}, fake.List{""},
			uint64(22), uint64(1_000), "# Call")
	}
	f.chain.Mine(calls(1, plain), calls(2, huge), calls(3, plain))
	f.chain.MineEmpty(fakeFinality + 25)
	f.start()
	f.Poll("tip", "backfill", "final", "state")
	var refs []record.RefHash
	for _, id := range []string{"1", "2", "3"} {
		refs = append(refs, record.ProposalRef{Provider: governance.Governor, ExternalID: chain.SourceID(fakeChain, governorAddress) + "/" + id}.Hash())
	}
	found := env.Must(records.Observations(t.Context(), f.warehouse, refs))(t)
	for i, known := range []bool{true, false, true} {
		got := found[refs[i]]
		if len(got.Addresses) != 1 || (got.Addresses[0].Contract != nil) != known {
			t.Errorf("proposal %d: got %+v, want that it is known %t whether its target has code", i+1, got.Addresses, known)
		}
	}
}

// What a setting was is what the contract states before the calls change it; where the node has forgotten it, nothing.
func TestSettingsBeforeTheyAreChanged(t *testing.T) {
	t.Parallel()
	live := newFollower(t)
	node := live.chain
	node.Answer(governorAddress, "votingDelay()", nil, uint64(7200))
	node.Answer(timelockAddress, "getMinDelay()", nil, uint64(172800))
	zero := make([]byte, 32)
	governor := fake.Hex(governorAddress)
	node.Mine(fake.Emit(governorAddress, createdEvent, 0, uint64(7), ada, fake.List{governor, fake.Hex(timelockAddress), governor}, fake.List{0, 0, 0},
		fake.List{"setVotingDelay(uint256)", "updateDelay(uint256)", "setQuorum(uint256)"}, fake.List{zero, zero, zero}, uint64(10), uint64(20), "text"))
	said := func(f *follower) string {
		settings := map[string]map[string]string{}
		for _, a := range env.Must(records.Observations(t.Context(), f.warehouse, []record.RefHash{f.ref("7")}))(t)[f.ref("7")].Addresses {
			settings[a.Address] = a.Settings
		}
		return fmt.Sprint(settings)
	}
	poll := func(f *follower, state uint64) {
		node.Answer(governorAddress, "state(uint256)", []any{uint64(7)}, state)
		f.Poll("tip", "backfill", "final", "state", "state")
	}
	known := fmt.Sprint(map[string]map[string]string{governorAddress: {"setVotingDelay(uint256)": "7200"}, timelockAddress: {"updateDelay(uint256)": "172800"}})
	live.start()
	poll(live, 1)
	env.Want(t, known, said(live), "while the vote is open")
	node.Change(governorAddress, "votingDelay()", nil, uint64(14400))
	node.Mine(fake.Emit(governorAddress, "ProposalExecuted(uint256)", 0, uint64(7)))
	poll(live, 7)
	env.Want(t, known, said(live), "after the execution")
	for name, c := range map[string]struct {
		faults fake.Faults
		want   string
	}{
		"a node with old state": {fake.Faults{}, known},
		"a node without":        {fake.Faults{Pruned: true}, fmt.Sprint(map[string]map[string]string{governorAddress: nil, timelockAddress: nil})},
	} {
		late, endpoint := newFollower(t), node.AnotherEndpoint()
		endpoint.Fail(c.faults)
		late.chain, late.endpoints = node, []http.Handler{endpoint}
		late.start()
		poll(late, 7)
		env.Want(t, c.want, said(late), name)
	}
}

// A block executes a proposal before the log of it is read.
func TestSettingsAreThoseOfTheBlockThatIsRead(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.chain.Answer(governorAddress, "state(uint256)", []any{uint64(1)}, uint64(5))
	f.chain.Answer(governorAddress, "votingDelay()", nil, uint64(7200))
	f.chain.Mine(fake.Emit(governorAddress, createdEvent, 0, uint64(1), ada, fake.List{fake.Hex(governorAddress)}, fake.List{0},
		fake.List{"setVotingDelay(uint256)"}, fake.List{make([]byte, 32)}, uint64(10), uint64(20), "text"))
	f.chain.MineEmpty(2 * fakeFinality)
	f.start()
	f.Poll("tip", "backfill", "final")
	f.chain.Change(governorAddress, "votingDelay()", nil, uint64(0))
	f.chain.Mine(fake.Emit(governorAddress, "ProposalExecuted(uint256)", 0, uint64(1)))
	f.Poll("state")
	found := env.Must(records.Observations(t.Context(), f.warehouse, []record.RefHash{f.ref("1")}))(t)
	env.Want(t, "7200", found[f.ref("1")].Addresses[0].Settings["setVotingDelay(uint256)"], "delay before the execution")
}

func TestAProposalThatCannotBeAskedAboutHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for failing := range uint64(3) {
		t.Run(fmt.Sprint(failing), func(t *testing.T) {
			t.Parallel()
			f := newFollower(t)
			target := func(id uint64) string { return fmt.Sprintf("0x%040x", 0xf0+id) }
			for id := range uint64(3) {
				f.chain.Mine(fake.Emit(governorAddress, createdEvent, 0, id, ada, fake.List{fake.Hex(target(id))}, fake.List{uint64(0)}, fake.List{""}, fake.List{""},
					uint64(22), uint64(1_000), "# Call"))
			}
			f.chain.MineEmpty(2 * fakeFinality)
			f.endpoints = []http.Handler{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if bytes.Contains(body, []byte(target(failing))) {
					w.WriteHeader(http.StatusRequestEntityTooLarge)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				f.chain.ServeHTTP(w, r)
			})}
			f.start()
			f.Poll("tip", "backfill", "final")
			_ = f.TryPoll(t.Context(), "state") // which says what failed
			refs := []record.RefHash{f.ref("0"), f.ref("1"), f.ref("2")}
			env.Want(t, 2, len(env.Must(records.Observations(t.Context(), f.warehouse, refs))(t)), "observed proposals")
		})
	}
}

func TestProposalsThatCannotBeAskedAboutComeAfterAllOthers(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	const failing = uint64(40)
	for id := range failing + 1 {
		f.chain.Mine(fake.Emit(governorAddress, createdEvent, 0, id, ada, fake.List{fake.Hex(fmt.Sprintf("0xee%038x", id/failing))},
			fake.List{uint64(0)}, fake.List{""}, fake.List{""}, uint64(22), uint64(1_000), "# Call"))
	}
	f.chain.MineEmpty(2 * fakeFinality)
	refuse(f, func(body []byte) bool { return bytes.Contains(body, []byte("0xee"+strings.Repeat("0", 38))) })
	f.start()
	f.Poll("tip", "backfill", "final")
	for range 5 {
		_ = f.TryPoll(t.Context(), "state")
	}
	env.Want(t, 1, len(env.Must(records.Observations(t.Context(), f.warehouse, []record.RefHash{f.ref("40")}))(t)), "observations of the last")
}
