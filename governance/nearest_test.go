package governance_test

import (
	"strings"
	"testing"

	"pnyx/governance"
)

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
