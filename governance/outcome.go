package governance

import "github.com/shopspring/decimal"

// Decide derives the outcome of a closed vote: Passed when more power approves
// than rejects and the quorum (nil where there is none) is reached, else Failed. It
// is Unknown where the choices are not exactly one that approves, one that rejects
// and any that abstain, because then no rule says who won. A quorum of rejection
// decides alone.
func Decide(v VoteType, choices []Choice, scores []decimal.Decimal, quorum *Quorum) Outcome {
	power := map[Verdict]decimal.Decimal{}
	count := map[Verdict]int{}
	for i, verdict := range Verdicts(v, choices) {
		if verdict != Abstains {
			power[verdict] = scores[i]
		}
		count[verdict]++
	}
	decides := count[Approves] == 1 && count[Rejects] == 1 && count[NoVerdict] == 0
	// What a basic vote lacks got no power.
	if !decides && v != Basic || quorum != nil && quorum.Reached == nil {
		return Unknown
	}
	passed := power[Approves].GreaterThan(power[Rejects])
	switch {
	case quorum != nil && quorum.Type == QuorumOfRejection:
		passed = !*quorum.Reached
	case quorum != nil:
		passed = passed && *quorum.Reached
	}
	if passed {
		return Passed
	}
	return Failed
}
