package governance_test

import (
	"fmt"

	"pnyx/governance"
)

func ExampleParsePower() {
	for _, text := range []string{"1500", "2.11e-16", "0.0000000000000000015", "-1"} {
		power, rounded, err := governance.ParsePower(text)
		fmt.Println(governance.DecimalOf(power), rounded, err)
	}
	// Output:
	// 1500 false <nil>
	// 0.000000000000000211 false <nil>
	// 0.000000000000000002 true <nil>
	// 0 false negative: "-1"
}

func ExampleSplitByWeight() {
	for _, part := range governance.SplitByWeight(num("100"), nums("1", "1", "4")) {
		fmt.Println(part)
	}
	// Output:
	// 16.666666666666666666
	// 16.666666666666666666
	// 66.666666666666666668
}

// Nobody has more than half of 9. Choice 3 is the weakest; its ballots go to
// choice 2, which then beats choice 1.
func ExampleInstantRunoff() {
	last := governance.InstantRunoff([]governance.Ranking{
		{Choices: []string{"1", "2"}, Votes: 40, Power: num("4")},
		{Choices: []string{"2", "1"}, Votes: 30, Power: num("3")},
		{Choices: []string{"3", "2"}, Votes: 20, Power: num("2")},
	}, governance.CompareChoiceKeys)
	for _, choice := range []string{"1", "2", "3"} {
		score, standing := last[choice]
		fmt.Println(choice, standing, score.Votes, score.Power)
	}
	// Output:
	// 1 true 40 4
	// 2 true 50 5
	// 3 false 0 0
}

func ExampleIdentity_ProposalKey() {
	identity := governance.Identity{DAOID: "uniswap", Provider: governance.Snapshot, ExternalID: "0x8b8f"}
	fmt.Println(identity.ProposalKey())
	// Output: p1_f_XfJz_6yGy1gCgoSU2qbg
}
