package governance_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
)

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

func TestInstantRunoffEqualsTheNaiveRuleToTheLastDigit(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(13, 14))
	for range 100 {
		ballots := fullRankings(1+random.IntN(30), random.IntN(40))
		for i := range ballots {
			// Rankings end anywhere, and some powers are zero or equal.
			ballots[i].Choices = ballots[i].Choices[:random.IntN(len(ballots[i].Choices)+1)]
			ballots[i].Votes = random.Uint64N(5)
			if random.IntN(3) == 0 {
				ballots[i].Power = decimal.NewFromInt(random.Int64N(3))
			}
		}
		want, got := snapshotRunOff(ballots), governance.InstantRunoff(ballots, governance.CompareChoiceKeys)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("last round of %v (-want +got):\n%s", ballots, diff)
		}
		for choice, score := range want {
			if got[choice].Power.String() != score.Power.String() {
				t.Errorf("power of %s: got %s, want %s", choice, got[choice].Power, score.Power)
			}
		}
	}
}
