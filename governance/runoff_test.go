package governance_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/check"
)

// ranked is a group of ballots in short: "1>2>3" with a vote a unit of power.
func ranked(choices string, power int64) governance.Ranking {
	ranking := governance.Ranking{Votes: uint64(power), Power: decimal.NewFromInt(power)}
	if choices != "" {
		ranking.Choices = strings.Split(choices, ">")
	}
	return ranking
}

func TestInstantRunoff(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		ballots []governance.Ranking
		want    map[string]int64
	}{
		{"no ballots", nil, map[string]int64{}},
		{"a ballot that ranks nothing", []governance.Ranking{ranked("", 5)}, map[string]int64{}},
		{"one choice", []governance.Ranking{ranked("1", 5)}, map[string]int64{"1": 5}},
		{"two choices need no majority", []governance.Ranking{ranked("1>2", 3), ranked("2>1", 3)}, map[string]int64{"1": 3, "2": 3}},
		{
			"a majority at once ends it with everyone still standing",
			[]governance.Ranking{ranked("1", 6), ranked("2>3", 3), ranked("3>2", 2)},
			map[string]int64{"1": 6, "2": 3, "3": 2},
		},
		{
			"the weakest choice's ballots go to their next",
			[]governance.Ranking{ranked("1", 4), ranked("2", 3), ranked("3>2", 2)},
			map[string]int64{"1": 4, "2": 5},
		},
		{"half is no majority", []governance.Ranking{ranked("1", 4), ranked("2", 3), ranked("3>2", 1)}, map[string]int64{"1": 4, "2": 4}},
		{
			"a ballot passes over choices that are struck out",
			[]governance.Ranking{ranked("1", 5), ranked("2", 4), ranked("3>4>2", 2), ranked("4>3>2", 1)},
			map[string]int64{"1": 5, "2": 7},
		},
		{
			"ballots that are used up no longer count towards the majority",
			[]governance.Ranking{ranked("1", 6), ranked("2", 3), ranked("3", 2), ranked("4", 1)},
			map[string]int64{"1": 6, "2": 3, "3": 2},
		},
		{
			"of equally weak choices the first is struck, by number",
			[]governance.Ranking{ranked("1", 5), ranked("2>10", 3), ranked("10>2", 3)},
			map[string]int64{"1": 5, "10": 6},
		},
		{
			"a choice without first preferences is the weakest",
			[]governance.Ranking{ranked("1>3", 3), ranked("2>3", 3)},
			map[string]int64{"1": 3, "2": 3},
		},
		{
			"a choice without first preferences stands until it is struck",
			[]governance.Ranking{ranked("1>3", 5), ranked("2", 3)},
			map[string]int64{"1": 5, "2": 3, "3": 0},
		},
		{
			"ballots without power decide nothing",
			[]governance.Ranking{ranked("1", 0), ranked("2", 0), ranked("3", 0)},
			map[string]int64{"2": 0, "3": 0},
		},
	} {
		want := map[string]governance.Score{}
		for choice, power := range test.want {
			want[choice] = governance.Score{Votes: uint64(power), Power: decimal.NewFromInt(power)}
		}
		check.WantSame(t, test.name, want, governance.InstantRunoff(test.ballots, governance.CompareChoiceKeys))
	}
}

func TestInstantRunoffIsSnapshotsRuleToTheLastDigit(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		ballots := fullRankings(1+random.IntN(30), random.IntN(40))
		for i := range ballots {
			// Rankings end anywhere, and powers are of few sizes, so that there are ties.
			ballots[i].Choices = ballots[i].Choices[:random.IntN(len(ballots[i].Choices)+1)]
			ballots[i].Votes = random.Uint64N(5)
			if random.IntN(3) > 0 {
				ballots[i].Power = decimal.NewFromInt(random.Int64N(4))
			}
		}
		want := snapshotRunOff(ballots)
		for range 2 {
			got := governance.InstantRunoff(ballots, governance.CompareChoiceKeys)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("last round of %v (-want +got):\n%s", ballots, diff)
			}
			for choice, score := range want {
				if got[choice].Power.String() != score.Power.String() {
					t.Errorf("power of %s: got %s, want %s", choice, got[choice].Power, score.Power)
				}
			}
			random.Shuffle(len(ballots), func(a, b int) { ballots[a], ballots[b] = ballots[b], ballots[a] })
		}
	}
}

// snapshotRunOff strikes a choice by taking it out of every ballot, one round
// after the other, as Snapshot does.
func snapshotRunOff(ballots []governance.Ranking) map[string]governance.Score {
	round := map[string]governance.Score{}
	var total decimal.Decimal
	for _, ballot := range ballots {
		for _, choice := range ballot.Choices {
			round[choice] = governance.Score{Votes: round[choice].Votes, Power: round[choice].Power}
		}
		if len(ballot.Choices) > 0 {
			first := round[ballot.Choices[0]]
			round[ballot.Choices[0]] = governance.Score{Votes: first.Votes + ballot.Votes, Power: first.Power.Add(ballot.Power)}
			total = total.Add(ballot.Power)
		}
	}
	standing := slices.SortedFunc(maps.Keys(round), func(a, b string) int {
		if order := round[a].Power.Cmp(round[b].Power); order != 0 {
			return order
		}
		return governance.CompareChoiceKeys(a, b)
	})
	if len(standing) < 3 || round[standing[len(standing)-1]].Power.GreaterThan(total.Div(decimal.NewFromInt(2))) {
		return round
	}
	left := slices.Clone(ballots)
	for i := range left {
		left[i].Choices = slices.DeleteFunc(slices.Clone(left[i].Choices), func(choice string) bool {
			return choice == standing[0]
		})
	}
	return snapshotRunOff(left)
}

func TestCompareChoiceKeysOrdersAsProposalsDo(t *testing.T) {
	t.Parallel()
	want := []string{"1", "2", "9", "10", "11", "20", "100", "abstain", "against", "for"}
	got := slices.Clone(want)
	rand.New(rand.NewPCG(9, 10)).Shuffle(len(got), func(a, b int) { got[a], got[b] = got[b], got[a] })
	slices.SortFunc(got, governance.CompareChoiceKeys)
	check.WantSame(t, "order", want, got)
	for _, a := range want {
		for _, b := range want {
			there, back := governance.CompareChoiceKeys(a, b), governance.CompareChoiceKeys(b, a)
			if (there < 0) != (back > 0) || (there == 0) != (a == b) {
				t.Errorf("%s and %s: got %d, %d the other way round", a, b, there, back)
			}
		}
	}
}

// fullRankings are ballots that each rank all choices, in an order of their own.
func fullRankings(choices, ballots int) []governance.Ranking {
	random := rand.New(rand.NewPCG(11, 12))
	keys := make([]string, choices)
	for i := range keys {
		keys[i] = strconv.Itoa(i + 1)
	}
	rankings := make([]governance.Ranking, ballots)
	for i := range rankings {
		order := append([]string(nil), keys...)
		random.Shuffle(choices, func(a, b int) { order[a], order[b] = order[b], order[a] })
		power := decimal.New(1+random.Int64N(1e18), -governance.PowerScale)
		rankings[i] = governance.Ranking{Choices: order, Votes: 1, Power: power}
	}
	return rankings
}

// Every addition allocates. Each round eliminates one of 200 choices: a rule that adds all
// ballots up again in each does a hundred times the work.
func TestAttackRunoffTouchesOnlyTheBallotsOfTheEliminatedChoice(t *testing.T) {
	const choices, ballots, ranked = 200, 1000, 2
	rankings := fullRankings(choices, ballots)
	for i := range rankings {
		rankings[i].Choices = rankings[i].Choices[:ranked]
	}
	got := testing.AllocsPerRun(1, func() {
		governance.InstantRunoff(rankings, governance.CompareChoiceKeys)
	})
	if most := 15.0 * ballots * ranked; got > most {
		t.Errorf("allocations for %d preferences: got %.0f, want at most %.0f", ballots*ranked, got, most)
	}
}
