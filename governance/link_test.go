package governance_test

import (
	"slices"
	"strings"
	"testing"

	"pnyx/governance"
	"pnyx/test/check"
)

func TestLinkedTopicKnowsEveryFormAndNoOther(t *testing.T) {
	t.Parallel()
	want := governance.TopicName("gov.optimism.io", "1234")
	for _, address := range []string{
		"https://gov.optimism.io/t/slug/1234", "https://gov.optimism.io/t/1234", "https://gov.optimism.io/t/slug/1234/5",
		"https://gov.optimism.io/t/1234/5", "https://gov.optimism.io/t/slug/1234/", "https://gov.optimism.io/t/slug/1234/5/",
		"https://gov.optimism.io/t/slug/1234?u=me&x=/t/9", "https://gov.optimism.io/t/slug/1234#post_2", "http://gov.optimism.io/t/slug/1234",
		"https://www.gov.optimism.io/t/slug/1234", "HTTPS://Gov.Optimism.IO/t/Slug/1234", "gov.optimism.io/t/slug/1234",
		"  https://gov.optimism.io/t/slug/1234\n", "https://gov.optimism.io:443/t/slug/1234", "https://gov.optimism.io/t/-/1234",
		"https://gov.optimism.io/t/%E6%B0%91/1234.json", "https://gov.optimism.io/forum/t/2-of-3/1234",
	} {
		check.Want(t, want, governance.LinkedTopic(address), address)
	}
	check.Want(t, want, governance.TopicName("WWW.Gov.Optimism.io", "1234"), "a host in another spelling")
	for _, address := range []string{
		"", " ", "none", "https://gov.optimism.io", "https://gov.optimism.io/c/grants/69", "https://gov.optimism.io/t/slug",
		"https://gov.optimism.io/t/slug/a/1234", "https://gov.optimism.io/t/slug/-1", "https://gov.optimism.io/t/slug/01",
		"ftp://gov.optimism.io/t/slug/1234", "https:///t/slug/1234", "mailto:a@b.c/t/1",
		"https://snapshot.org/#/space/proposal/0x12",
	} {
		check.Want(t, "", governance.LinkedTopic(address), address)
	}
}

func TestLinkedProposalKnowsEveryFormAndNoOther(t *testing.T) {
	t.Parallel()
	snapshot := governance.Snapshot.LinkNames("opcollective.eth", "0xAB12", "")
	tally := governance.Tally.LinkNames("uniswap", "2207450143689540900", "https://www.tally.xyz/gov/uniswap/proposal/93")
	for address, names := range map[string][]string{
		"https://snapshot.org/#/opcollective.eth/proposal/0xab12":               snapshot,
		"https://snapshot.org/#/opcollective.eth/proposal/0xAB12/":              snapshot,
		"http://www.snapshot.org/#/renamed.eth/proposal/0xab12?app=x":           snapshot,
		"https://snapshot.box/#/s:opcollective.eth/proposal/0xab12":             snapshot,
		"https://v1.snapshot.box/#/opcollective.eth/proposal/0xab12":            snapshot,
		"https://snapshot.box/#/s:opcollective.eth/proposal/0xab12/votes":       snapshot,
		"https://www.tally.xyz/gov/uniswap/proposal/93/votes":                   tally,
		"https://snapshot.page/#/opcollective.eth/proposal/0xab12":              snapshot,
		"https://www.tally.xyz/gov/uniswap/proposal/93":                         tally,
		"https://tally.xyz/gov/Uniswap/proposal/2207450143689540900":            tally,
		"https://www.tally.xyz/gov/uniswap/proposal/93?govId=eip155:1:0x40#top": tally,
	} {
		if got := governance.LinkedProposal(address); !slices.Contains(names, got) {
			t.Errorf("%v: got %q, want one of %q", address, got, names)
		}
	}
	for _, address := range []string{
		"", "https://snapshot.org/#/profile/0xab", "https://snapshot.org/#/opcollective.eth", "https://snapshot.org/a/proposal/b",
		"https://snapshot.org.example/#/a/proposal/b", "https://mysnapshot.org/#/a/proposal/b", "https://tally.xyz/gov/uniswap",
		"https://tally.xyz/gov/uniswap/delegates/1", "https://gov.optimism.io/t/slug/1", "#/a/proposal/b", "/gov/uniswap/proposal/1",
	} {
		check.Want(t, "", governance.LinkedProposal(address), address)
	}
}

func TestLinkedIDIsOneThatNoOtherProposalHas(t *testing.T) {
	t.Parallel()
	const number = "46514799174839131952937755475635933411907395382311347042580299316635260952272"
	for address, want := range map[string]string{
		"https://vote.optimism.io/proposals/" + number:                                  number,
		"https://agora.ensdao.org/proposals/" + number + "?tab=votes":                   number,
		"https://vote.example.org/#/proposal/" + strings.ToUpper(hexID)[:2] + hexID[2:]: hexID,
		"[vote](https://snapshot.org/#/a.eth/proposal/" + hexID + ").":                  hexID,
		"https://testnet.snapshot.org/#/a.eth/proposal/" + hexID + "/votes":             hexID,
		"https://snapshot.example.org/a.eth/proposal/" + cidID:                          cidID,
		"https://vote.uniswapfoundation.org/proposals/93":                               "",
		"https://gov.optimism.io/t/slug/1234":                                           "", "https://etherscan.io/address/0x" + strings.Repeat("ab", 20): "",
	} {
		check.Want(t, want, governance.LinkedID(address), address)
	}
}

func TestLinkNamesDependOnProviderAndID(t *testing.T) {
	t.Parallel()
	names := [][]string{
		governance.Snapshot.LinkNames("a.eth", "QmX", ""),
		governance.Snapshot.LinkNames("b.eth", "Qmx", "https://tally.xyz/gov/a/proposal/1"),
		governance.Tally.LinkNames("a", "1", ""),
		governance.Tally.LinkNames("b", "1", "https://www.tally.xyz/gov/b/proposal/1"),
		governance.Governor.LinkNames("eip155:1:0xab", "eip155:1:0xab/93", "https://tally.xyz/gov/a/proposal/93"),
	}
	want := [][]string{{"snapshot:QmX"}, {"snapshot:Qmx"}, {"tally:a:1"}, {"tally:b:1"}, {"tally:eip155:1:0xab:93"}}
	check.WantSame(t, "names", want, names)
}

func TestGovernorProposalHasTwoIDs(t *testing.T) {
	t.Parallel()
	got := [][]string{
		governance.Governor.ExternalIDs("eip155:1:0xab/93"), governance.Governor.ExternalIDs("93"),
		governance.Tally.ExternalIDs("a/93"), governance.Snapshot.ExternalIDs("0xab"),
	}
	want := [][]string{{"eip155:1:0xab/93", "93"}, {"93"}, {"a/93"}, {"0xab"}}
	check.WantSame(t, "ids", want, got)
}

func TestGovernorIDNamesChainAndContract(t *testing.T) {
	t.Parallel()
	address := "0x21df544947ba3e8b3c32561399e88b52dc8b28aa"
	for id, want := range map[string]bool{
		"eip155:1:" + address: true, "eip155:42161:" + address: true,
		"eip155:0:" + address: false, "eip155:1:" + address + "0": false, "eip155:1:0x21": false, address: false,
		"eip155:1:" + strings.ToUpper(address): false, "eip155:1:" + address + "/1": false, "solana:1:" + address: false,
	} {
		check.Want(t, want, governance.IsGovernorID(id), id)
	}
}
