package governance_test

import (
	"strings"
	"testing"

	"pnyx/governance"
	"pnyx/test/check"
)

func TestNamesThatLookLikeOthersAreSuspect(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"ada.eth": false, "Ada Lovelace": false, "Åse Ødegård": false, "Σωκράτης": false, "Вера": false, "東京の塔": false, "김 Kim": false, "🦄.eth": false,
		"\u0430da.eth": true, "ada\u200b.eth": true, "\u202eada": true, "αda": true, "a\u00a0da": true, "a\nda": true,
		"0x0000000000000000000000000000000000000001": true, "0x12ab\u2026CDEF": true, "Ox12ab...cdef": true, "0x0000000000000000000000000000000000000001.eth": true, "0xmaki.eth": false, "oxbow": false,
		"\U0001d42f\U0001d422\U0001d42d.eth": true, "\uff41da": true, "ada\u3164": true, "ada\ufe0f": true, "\u2800": true, "\u24d0da": true,
		"\U0001f468\u200d\U0001f4bb.eth": false, "\u2764\ufe0f": false, "a\u200d\U0001f4bb": true,
	} {
		check.Want(t, want, governance.IsSuspectName(name), name, "suspect")
	}
}

func TestTheFirstSourceThatStatesANameNamesTheVoter(t *testing.T) {
	t.Parallel()
	names := []governance.VoterName{
		{Name: "f", Source: governance.NameOfForum},
		{Name: "s", Source: governance.NameOfSnapshot},
		{Name: "t", Source: governance.NameOfTally},
		{Name: "o", Source: governance.NameOfFile},
		{Name: "e", Source: governance.NameOfENS, Verified: true},
	}
	for want := range names {
		if got := governance.PreferredName(names[:want+1]); got == nil || *got != names[want] {
			t.Errorf("got %v, want %v", got, names[want])
		}
	}
	if got := governance.PreferredName([]governance.VoterName{{Name: "e", Source: governance.NameOfENS}, {Source: governance.NameOfTally}}); got != nil {
		t.Errorf("got %v of a name that is not verified, and an empty one", got)
	}
}

func TestNearestComparesTextsOfSimilarLength(t *testing.T) {
	candidates := []string{"uniswap", "uniswap.eth", "ünïswap"}
	for text, want := range map[string]string{
		"unisvap": "uniswap", "UNISWAPP": "uniswap", "unswap": "uniswap", "uniswap-eth": "uniswap.eth", "ünïswäp": "ünïswap", "uni": "",
	} {
		if got := governance.Nearest(text, candidates); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	long := strings.Repeat("x", 512)
	if got := testing.AllocsPerRun(10, func() { governance.Nearest(long, candidates) }); got > 0 {
		t.Errorf("a long text was compared with short ones: got %v allocations", got)
	}
}
