package warehouse_test

import (
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/warehouse/record"
)

func TestAnotherVersionIsNoRecastAndNeitherCountsTwice(t *testing.T) {
	t.Parallel()
	w := open(t)
	appendAll(t, w,
		ballot("once", "0xa", "v1", "1", "1", nil), ballot("once", "0xb", "v2", "1", "1", nil),
		ballot("changed", "0xa", "v3", "1", "1", nil), ballot("changed", "0xb", "v4", "1", "2", nil),
		ballot("recast", "0xa", "v5", "1", "1", nil), ballot("recast", "0xb", "v6", "1", "2", nil))
	appendAll(t, w, ballot("changed", "0xb", "v4", "1", "4", nil), ballot("recast", "0xb", "v7", "1", "8", nil))
	for id, want := range map[string]struct {
		power  int64
		recast bool
	}{"once": {2, false}, "changed": {5, false}, "recast": {9, true}} {
		hash := ref(id).Hash()
		tallies, err := w.Tallies(t.Context(), []record.RefHash{hash})
		if err != nil {
			t.Fatal(err)
		}
		got := tallies[hash]
		if got.Votes != 2 || !got.Power.Equal(decimal.NewFromInt(want.power)) || got.Recast != want.recast {
			t.Errorf("%s: got %d votes of %s, recast %v, want 2 of %d, %v", id, got.Votes, got.Power, got.Recast, want.power, want.recast)
		}
	}
}
