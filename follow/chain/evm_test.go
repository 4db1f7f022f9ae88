package chain_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/clock"
	"pnyx/follow"
	"pnyx/follow/chain"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// wantViews fails the test unless what is held of each Governor is what its contract says.
func (f *follower) wantViews(t *testing.T, view evmView) {
	t.Helper()
	states := []string{"pending", "active", "canceled", "defeated", "succeeded", "queued", "expired", "executed"}
	refOf := func(g evmGovernor, p evmProposal) record.RefHash {
		return record.ProposalRef{Provider: governance.Governor, ExternalID: chain.SourceID(fakeChain, g.Address) + "/" + p.ID}.Hash()
	}
	var refs []record.RefHash
	for _, g := range view.Governors {
		for _, p := range g.Proposals {
			refs = append(refs, refOf(g, p))
		}
	}
	found := map[record.RefHash]records.Proposal{}
	for _, p := range env.Must(records.Proposals(t.Context(), f.warehouse, refs))(t) {
		found[p.Ref] = p
	}
	totals := env.Must(counts.VoteTotalsOf(t.Context(), f.warehouse, refs))(t)
	for _, g := range view.Governors {
		for number, want := range g.Proposals {
			ref := refOf(g, want)
			p, held := found[ref]
			if !held {
				t.Errorf("%s %d: got no proposal", g.Name, number)
				continue
			}
			env.Want(t, states[want.State], p.State, g.Name, number, "state")
			if want.EndAt > 0 && (p.EndAt == nil || p.EndAt.Time().Unix() != want.EndAt) {
				t.Errorf("%s %d: got end %v, want %v", g.Name, number, p.EndAt, time.Unix(want.EndAt, 0).UTC())
			}
			env.Want(t, want.Quorum, p.QuorumRaw, g.Name, number, "quorum")
			var got, wanted [3]string
			for i, side := range []string{governance.GovernorAgainst, governance.GovernorFor, governance.GovernorAbstain} {
				wanted[i] = units(want.Votes[i], g.Decimals).String()
				got[i] = totals[ref].Choices[side].Power.String()
				if len(p.StatedScores) == 3 {
					got[i] = p.StatedScores[[]int{1, 0, 2}[i]].String()
				}
			}
			env.Want(t, wanted, got, g.Name, number, "votes", "against, for and abstaining")
		}
	}
}

// wantTokens fails the test unless the delegations and the power that are held are what each token says.
func (f *follower) wantTokens(t *testing.T, view evmView, supply bool) {
	t.Helper()
	read := map[string][]governance.DelegatedPower{}
	for _, token := range view.Tokens {
		scope := chain.SourceID(fakeChain, token.Address)
		delegators := map[string]int{}
		for _, a := range token.Accounts {
			delegators[strings.ToLower(a.Delegate)]++
		}
		for _, a := range token.Accounts {
			voter, power, holders := strings.ToLower(a.Voter), "?", "?"
			if a.Votes != "" {
				power = units(a.Votes, token.Decimals).String()
			}
			if a.Delegate != "" {
				holders = fmt.Sprint(delegators[voter])
			}
			want := power + " of " + holders
			if supply {
				want += fmt.Sprintf(" which is %s", governance.QuorumProgress(decimal.RequireFromString(power), units(token.Supply, token.Decimals)))
			}
			held, found := read[voter]
			if !found {
				held = env.Must(pages.DelegatedPowerOf(t.Context(), f.warehouse, voter))(t)
				read[voter] = held
			}
			got := "0 of 0"
			if supply {
				got += " which is 0"
			}
			for _, p := range held {
				if p.DelegationScope.String() != scope {
					continue
				}
				got = textOf(p.VotingPower) + " of " + textOf(p.Delegators)
				if supply && p.ShareOfSupply != nil {
					got += fmt.Sprintf(" which is %s", *p.ShareOfSupply)
				}
			}
			env.Want(t, want, got, token.Name, voter, "has")
		}
	}
}

// textOf returns a number, or a question mark where it is not known.
func textOf(number *governance.Decimal) string {
	if number == nil {
		return "?"
	}
	return string(*number)
}

// wantNames asks for names, and fails the test unless the first accounts have these.
func (f *follower) wantNames(t *testing.T, view evmView, want ...string) {
	t.Helper()
	for more := true; more; {
		more = env.Must(f.Pollers[follow.PollerNames].Run(t.Context()))(t)
	}
	for i := range want {
		voter := strings.ToLower(view.Names.Accounts[i])
		names := env.Must(records.VoterNames(t.Context(), f.warehouse, []string{voter}))(t)
		got := ""
		if name := names[voter]; name != nil {
			if got = name.Name; name.Suspect {
				got += " ?"
			}
			if owner, err := records.VoterNamed(t.Context(), f.warehouse, name.Name); err != nil || owner != voter || !name.Verified {
				t.Errorf("%s is of %s, want %s: %v", name.Name, owner, voter, err)
			}
		}
		env.Want(t, want[i], got, "account", i, "name")
	}
}

// silent is the step after which votes were moved without an event, until they are counted at the end.
const silent = "modules"

func TestLongContractsOfEachKindAreFollowedAsTheyCount(t *testing.T) {
	t.Parallel()
	evm, view := startEVM(t, "play", fmt.Sprint(fakeChain))
	f := newFollower(t)
	f.endpoints, f.governors = []http.Handler{evm.Node}, nil
	for _, g := range view.Governors {
		f.governors = append(f.governors, chain.Governor{Address: g.Address})
	}
	f.clock = clock.Stepping(time.Unix(view.Time, 0))
	f.delegations, f.nameRegistry = true, view.Names.Registry
	f.start()
	f.Poll("tip", "backfill", "final", "state")
	f.wantTokens(t, view, false)
	f.wantNames(t, view, "quay.eth", "", "qu\u0430y.eth ?", "", "")
	for evm.Steps > 0 {
		view = evm.Play()
		f.clock.Step(time.Unix(view.Time, 0).Sub(f.clock.Now()))
		f.Poll("tip", "final", "state", "state")
		shown := view
		if evm.Steps > 0 { // votes that are moved without an event are found when voting is over
			shown.Governors = nil
			for _, g := range view.Governors {
				if g.Name != silent {
					shown.Governors = append(shown.Governors, g)
				}
			}
		}
		f.wantViews(t, shown)
		f.wantTokens(t, view, evm.Steps == 0) // the last step makes the supply final
		if t.Failed() {
			t.Fatalf("with %d steps left", evm.Steps)
		}
	}
	t.Run("from nothing", func(t *testing.T) {
		scratch := *f
		scratch.t, scratch.warehouse = t, env.Warehouse(t)
		scratch.start()
		scratch.Poll("tip", "backfill", "final", "state", "state")
		scratch.wantViews(t, view)
		scratch.wantTokens(t, view, true)
		scratch.wantNames(t, view, "", "quay.eth", "qu\u0430y.eth ?", "", "")
	})
}

func TestLongPowersOfEscrowsAreTheContractsOwnOrUnknown(t *testing.T) {
	t.Parallel()
	evm, view := startEVM(t, "escrow", fmt.Sprint(fakeChain))
	f := newFollower(t)
	f.endpoints, f.governors = []http.Handler{evm.Node}, []chain.Governor{{Address: view.Governors[0].Address}}
	for _, escrow := range view.Tokens {
		f.tokens = append(f.tokens, escrow.Address)
	}
	f.clock, f.delegations = clock.Stepping(time.Unix(view.Time, 0)), true
	f.start()
	f.Poll("tip", "backfill", "final", "state")
	for f.wantTokens(t, view, false); evm.Steps > 0 && !t.Failed(); f.wantTokens(t, view, false) {
		view = evm.Play()
		f.clock.Step(time.Unix(view.Time, 0).Sub(f.clock.Now()))
		f.Poll("tip", "final", "state")
	}
	if t.Failed() {
		t.Fatalf("with %d steps left", evm.Steps)
	}
}

// evmChain is a chain on this machine with contracts of OpenZeppelin, Compound and our own, of each kind
// of Governor one, or escrows of votes. The programs in test/upstream/evm compile, deploy and play them.
type evmChain struct {
	// Node answers JSON-RPC.
	Node http.Handler
	// Steps is how many steps are left to be played.
	Steps int

	tb  testing.TB
	in  io.Writer
	out *bufio.Scanner
}

// evmView is what the contracts say of themselves after a step.
type evmView struct {
	// Time is the time of the newest block, in seconds.
	Time int64
	// Steps is how many steps there are, in the first view.
	Steps     int
	Governors []evmGovernor
	Tokens    []evmToken
	// Names are accounts with primary names in a registry of names.
	Names struct {
		Registry string
		Accounts []string
	}
}

// evmToken is a token with what it says of accounts: their votes now, in smallest units, and their
// delegates, which are zero for none. Both are empty where they cannot be known.
type evmToken struct {
	Name, Address string
	Decimals      uint8
	Supply        string
	Accounts      []struct{ Voter, Votes, Delegate string }
}

type evmGovernor struct {
	Name, Address string
	Decimals      uint8
	Proposals     []evmProposal
}

type evmProposal struct {
	ID    string
	State int
	// Votes are against, for, abstain, and Quorum is as of the end of voting, or of the head before;
	// both in smallest units.
	Votes  []string
	Quorum string
	// EndAt is the time in seconds of the block in which voting ended; 0 before.
	EndAt int64
}

// startEVM starts a chain that "play" or "escrow" plays. Where node, npm or a package is missing, the test is skipped.
func startEVM(tb testing.TB, program, chainID string) (*evmChain, evmView) {
	tb.Helper()
	dir := env.NPMInstalled(tb, "evm", filepath.Join(env.Root(tb), "test", "upstream", "evm"))
	port := env.Free(tb)
	node := env.Must(url.Parse("http://127.0.0.1:" + port))(tb)
	command := exec.Command(env.Program(tb, "node", ""), filepath.Join(dir, program+".mjs"), port, chainID) // the end of its input ends it
	command.Env = append(os.Environ(), "HOME="+env.ChainHome(tb))
	var failed env.Buffer
	command.Stderr = &failed
	in := env.Must(command.StdinPipe())(tb)
	out := env.Must(command.StdoutPipe())(tb)
	env.MustDo(tb, command.Start())
	tb.Cleanup(func() {
		_ = in.Close() // ends it
		if err := command.Wait(); err != nil {
			tb.Errorf("the EVM: %v\n%s", err, failed.String())
		}
	})
	e := &evmChain{Node: httputil.NewSingleHostReverseProxy(node), tb: tb, in: in, out: bufio.NewScanner(out)}
	e.out.Buffer(nil, 1<<20)
	view := e.read()
	e.Steps = view.Steps
	return e, view
}

func (e *evmChain) Play() evmView {
	e.tb.Helper()
	e.Steps--
	env.Must(io.WriteString(e.in, "next\n"))(e.tb)
	return e.read()
}

func (e *evmChain) read() (view evmView) {
	e.tb.Helper()
	if !e.out.Scan() {
		e.tb.Fatalf("the EVM ended: %v", e.out.Err())
	}
	if err := json.Unmarshal(e.out.Bytes(), &view); err != nil {
		e.tb.Fatalf("read what the contracts say: %v of %.200s", err, e.out.Bytes())
	}
	return view
}
