package governance

import "github.com/shopspring/decimal"

// Decide derives the outcome of a closed vote: Passed when more power approves than rejects and the
// quorum (nil where there is none) is reached, else Failed. It is Unknown where the choices are not
// exactly one that approves, one that rejects and any that abstain, because then no rule says who
// won. A quorum of rejection decides alone.
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

// Upstream states of a proposal that can still be voted on.
const (
	UpstreamPending = "pending"
	UpstreamActive  = "active"
)

// stateOfVote is what a word of upstream means: whether voting is closed, and the outcome, if it states one.
type stateOfVote struct {
	over    bool
	outcome Outcome
}

// statesOfVotes are the words of all providers. A word that is not among them decides nothing.
func statesOfVotes() map[string]stateOfVote {
	return map[string]stateOfVote{
		UpstreamPending: {}, UpstreamActive: {}, "extended": {}, "submitted": {}, "draft": {},
		"closed": {over: true}, "archived": {over: true},
		"succeeded": {true, Passed}, "queued": {true, Passed}, "pendingexecution": {true, Passed},
		"executed": {true, Executed}, "callexecuted": {true, Executed}, "crosschainexecuted": {true, Executed},
		"defeated": {true, Failed}, "expired": {true, Failed},
		"canceled": {true, Canceled}, "cancelled": {true, Canceled}, "vetoed": {true, Canceled},
	}
}

// IsKnownState reports whether the meaning of an upstream state is known. An empty state is known.
func IsKnownState(state string) bool {
	_, known := statesOfVotes()[state]
	return known || state == ""
}

// OutcomeOfState returns the outcome that an upstream state states; empty for none.
func OutcomeOfState(state string) Outcome { return statesOfVotes()[state].outcome }

// IsOpenState reports whether an upstream state says that a vote is to come or under way.
func IsOpenState(state string) bool {
	return state != "" && IsKnownState(state) && !statesOfVotes()[state].over
}
