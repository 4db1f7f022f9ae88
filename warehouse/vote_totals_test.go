package warehouse_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
)

func TestNewVersionIsNoRecastAndCountsOnce(t *testing.T) {
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
		tallies, err := counts.VoteTotalsOf(t.Context(), w, []record.RefHash{hash})
		if err != nil {
			t.Fatal(err)
		}
		got := tallies[hash]
		if got.Votes != 2 || !got.Power.Equal(decimal.NewFromInt(want.power)) || got.Recast != want.recast {
			t.Errorf("%s: got %d votes of %s, recast %v, want 2 of %d, %v", id, got.Votes, got.Power, got.Recast, want.power, want.recast)
		}
	}
}

// Both ways of counting are one definition written twice: votes of every shape, cast
// again, corrected, undated, of no power, over several proposals.
func TestPickedAndMergedTotalsAreEqual(t *testing.T) {
	t.Parallel()
	w := open(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		records := make([]record.Record, 0, 400)
		for range cap(records) {
			records = append(records, anyBallot(t, random))
		}
		appendAll(t, w, records...)
	}
	refs := []record.RefHash{ref("p0").Hash(), ref("p1").Hash(), ref("p2").Hash()}
	tallies, err := counts.VoteTotalsOf(t.Context(), w, refs)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := counts.MergedTotals(t.Context(), w, refs)
	if err != nil {
		t.Fatal(err)
	}
	if len(tallies) != len(refs) || tallies[refs[0]].Votes < 100 || !tallies[refs[0]].Recast || tallies[refs[0]].Malformed == 0 {
		t.Fatalf("got %+v, want many votes, some of them recast", tallies)
	}
	if diff := cmp.Diff(merged, tallies); diff != "" {
		t.Errorf("tallies (-merged +picked):\n%s", diff)
	}
	rankings, err := counts.Rankings(t.Context(), w, refs)
	if err != nil {
		t.Fatal(err)
	}
	ranked, err := counts.MergedRankings(t.Context(), w, refs)
	if diff := cmp.Diff(ranked, rankings); err != nil || diff != "" {
		t.Errorf("rankings: %v (-merged +picked):\n%s", err, diff)
	}
}

// anyBallot is one of few voters, on one of three proposals.
func anyBallot(t *testing.T, random *rand.Rand) *record.Ballot {
	t.Helper()
	voter := random.IntN(150)
	times := []*governance.Timestamp{nil, at("2026-01-31T23:59:59Z"), at("2026-02-01T00:00:00Z"), at("2026-02-03T00:00:00Z")}
	b := ballot(fmt.Sprintf("p%d", random.IntN(3)), fmt.Sprintf("0x%d", voter), fmt.Sprintf("v%d-%d", voter, random.IntN(2)),
		fmt.Sprint(1+random.IntN(3)), decimal.New(random.Int64N(1e15), -9).String(), times[random.IntN(len(times))])
	b.VotedDayOnly, b.PowerRounded = random.IntN(5) == 0, random.IntN(5) == 0
	switch random.IntN(4) {
	case 0:
		b.Choices = []string{"2", "1", "3"}[:random.IntN(4)]
		b.RawChoice = []string{"[]", "[2,2]", `{"0":1}`, `"x"`}[random.IntN(4)]
	case 1:
		b.Choices = nil
		weights := []decimal.Decimal{decimal.NewFromInt(random.Int64N(3)), decimal.NewFromInt(random.Int64N(3)), decimal.NewFromInt(7)}
		b.SetWeights([]string{"1", "2", "3"}, weights)
	}
	return b
}
