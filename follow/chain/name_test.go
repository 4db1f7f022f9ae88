package chain_test

import (
	"strings"
	"testing"

	"pnyx/follow/chain"
	"pnyx/governance"
	"pnyx/test/env"
	fake "pnyx/test/upstream/chain"
	"pnyx/warehouse/records"
)

// Anybody may name a resolver of their own.
func TestAResolverThatNoNodeAnswersHoldsUpNoOtherName(t *testing.T) {
	t.Parallel()
	const registry, resolver, endless = "0x00000000000000000000000000000000000000e1", "0x00000000000000000000000000000000000000e2", "0x00000000000000000000000000000000000000e3"
	f := newFollower(t)
	f.delegations, f.nameRegistry = true, registry
	ada, mallory := account(1), account(2)
	node := func(name string) []any { return []any{fake.Hex(chain.NodeOf(name))} }
	reverse := func(of fake.Hex) string { return strings.TrimPrefix(string(of), "0x") + ".addr.reverse" }
	f.chain.Answer(registry, "resolver(bytes32)", node(reverse(ada)), fake.Hex(resolver))
	f.chain.Answer(registry, "resolver(bytes32)", node("ada.eth"), fake.Hex(resolver))
	f.chain.Answer(registry, "resolver(bytes32)", node(reverse(mallory)), fake.Hex(endless))
	f.chain.Answer(resolver, "name(bytes32)", node(reverse(ada)), "ada.eth")
	f.chain.Answer(resolver, "addr(bytes32)", node("ada.eth"), ada)
	f.chain.Fail(fake.Faults{Aborts: endless})
	f.chain.Create(tokenAddress, 1)
	f.chain.Mine(votesOf(ada, 5), votesOf(mallory, 5))
	f.chain.MineEmpty(fakeFinality + 2)
	f.start()
	f.Poll("tip", "backfill", "final", "names")
	names := env.Must(records.VoterNames(t.Context(), f.warehouse, []string{string(ada), string(mallory)}))(t)
	want := governance.VoterName{Name: "ada.eth", Source: governance.NameOfENS, Verified: true}
	if got := names[string(ada)]; got == nil || *got != want || names[string(mallory)] != nil {
		t.Errorf("got names %+v, want %+v alone", names, want)
	}
}
