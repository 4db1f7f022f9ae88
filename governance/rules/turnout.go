package rules

import (
	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// fullTurnout is the turnout, in percent of the usual, that gives all of the score; also if the usual is unknown.
const fullTurnout = 100

// importanceVersion changes with how the importance of events is weighed.
const importanceVersion = "2"

// fullBallots is the number of ballots from which a vote has all of its score.
const fullBallots = 50

// median returns the middle of some numbers, and false for fewer than minEarlierVotes.
func median(numbers []decimal.Decimal) (decimal.Decimal, bool) {
	if len(numbers) < minEarlierVotes {
		return decimal.Zero, false
	}
	return governance.Median(numbers)
}

// usualVotes returns the usual number of ballots of the votes before.
func (f VoteFacts) usualVotes() (decimal.Decimal, bool) {
	votes := make([]decimal.Decimal, len(f.EarlierVotes))
	for i, count := range f.EarlierVotes {
		votes[i] = decimal.NewFromUint64(count)
	}
	return median(votes)
}

// turnout returns the ballots or the power, whichever is less, in whole percent of the usual, at most fullTurnout.
func (f VoteFacts) turnout(r Result) int {
	least := decimal.NewFromInt(fullTurnout)
	if usual, known := f.usualVotes(); known && usual.IsPositive() {
		least = decimal.Min(least, percentOf(decimal.NewFromUint64(r.Votes), usual))
	}
	if usual, known := median(f.EarlierPowers); known && usual.IsPositive() {
		least = decimal.Min(least, percentOf(r.Power, usual))
	}
	return points(least)
}

// weigh returns the part of a score that a result deserves: half of it without turnout, all of it
// from the usual turnout on, and of that half without ballots, all of it from fullBallots on.
func (f VoteFacts) weigh(score int, r Result) int {
	return score * (fullTurnout + f.turnout(r)) * bySize(r.Votes) / (2 * fullTurnout * 2 * fullBallots)
}

// weighBefore is weigh for a vote without a result: by the usual number of ballots, where it is known.
func (f VoteFacts) weighBefore(score int) int {
	usual, known := f.usualVotes()
	if !known {
		return score
	}
	return score * bySize(uint64(usual.IntPart())) / (2 * fullBallots) //nolint:gosec // not negative
}

// bySize returns the part of a score, in parts of 2 × fullBallots, for a number of ballots.
func bySize(votes uint64) int { return fullBallots + int(min(votes, fullBallots)) }

// Importance returns ImportanceOf for an event of the vote, weighed by the result if the vote is over.
func (f VoteFacts) Importance(eventType string, confidence governance.Confidence, votes uint64) int {
	score := ImportanceOf(eventType, confidence, votes)
	if !f.ended() || confidence == governance.DiscoveredTime {
		return score
	}
	return f.weigh(score, f.Final)
}
