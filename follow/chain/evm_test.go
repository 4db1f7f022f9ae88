package chain_test

import (
	"fmt"
	"net/http"
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
		var err error
		if more, err = f.Pollers[follow.PollerNames].Run(t.Context()); err != nil {
			t.Fatal(err)
		}
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
