package rules

import (
	"pnyx/governance"
	"time"

	"github.com/shopspring/decimal"
)

// How long before the end of a vote some rules look at it.
const (
	ReminderSpan = 24 * time.Hour
	QuorumSpan   = 12 * time.Hour
	RaceSpan     = 6 * time.Hour
)

// Standing is how a vote stands at some moment, counted from the ballots cast before
// it. Of a voter who voted again only the ballot that counts in the end is looked at:
// what was taken back is not known to have stood.
type Standing struct {
	Votes uint64
	// Power is what all ballots carry, and Counted the part that counts towards the
	// quorum.
	Power, Counted decimal.Decimal
	// Scores are what each choice has, in order of the choices.
	Scores []decimal.Decimal
}

// LargestBallot is the ballot with the most power on the leading choice.
type LargestBallot struct {
	Voter string
	// Choice is its place among the choices.
	Choice int
	Power  decimal.Decimal
}

// VoteFacts is what signals about a vote follow from.
type VoteFacts struct {
	Title   string
	Choices []governance.Choice
	// StartAt and EndAt are nil unless known to the hour.
	StartAt, EndAt *governance.Timestamp
	Outcome        governance.Outcome
	// Closed says that the vote ended at EndAt, with Final as its result.
	Closed bool
	// Onchain votes are carried out by a transaction, at ExecutedAt if it is known.
	Onchain    bool
	ExecutedAt *governance.Timestamp
	// Quorum is nil where none is published.
	Quorum *decimal.Decimal
	// Single says that each ballot gives all its power to one choice, so that
	// ballots can be held against the result.
	Single bool
	Final  Standing
	// Before holds how the vote stood some time before its end: nothing unless the
	// time of every ballot is known.
	Before map[time.Duration]Standing
	// Largest are the largest ballots of each choice.
	Largest []LargestBallot
	// Earlier counts the ballots of the votes of the same source that ended before
	// this one, up to the last 10.
	Earlier []uint64
}

// ThreadFacts is what signals about a forum topic follow from.
type ThreadFacts struct {
	Title                 string
	Posts                 uint64
	CreatedAt, LastPostAt *governance.Timestamp
}

// Finding is what a rule found.
type Finding struct {
	DetectedAt governance.Timestamp
	DeadlineAt *governance.Timestamp
	Score      int
	Severity   string
	Title      string
	Summary    string
	// Evidence holds the figures that the rule went by; decimals are text.
	Evidence map[string]string
}

// spanBefore returns the moment a span before the end, and whether the vote was
// under way then: not when it began later, or had ended by an earlier decision.
func (f VoteFacts) spanBefore(span time.Duration) (governance.Timestamp, bool) {
	if f.EndAt == nil || f.Outcome == governance.Canceled {
		return 0, false
	}
	at := *f.EndAt - governance.Timestamp(span.Milliseconds())
	return at, at >= 0 && (f.StartAt == nil || *f.StartAt <= at)
}

// ended says whether there is a result, and when it came about.
func (f VoteFacts) ended() bool {
	return f.Closed && f.EndAt != nil && f.Outcome != governance.Canceled
}

// race is the two choices ahead.
type race struct {
	first, second int
	margin        decimal.Decimal
	// percent is the margin in percent of all power cast.
	percent decimal.Decimal
}

// raceOf finds the two choices ahead, the first of equals; none unless both have
// power.
func raceOf(s Standing) (race, bool) {
	first := governance.Largest(s.Scores)
	second := -1
	for i, score := range s.Scores {
		if i != first && (second < 0 || score.GreaterThan(s.Scores[second])) {
			second = i
		}
	}
	if second < 0 || !s.Scores[second].IsPositive() {
		return race{}, false
	}
	margin := s.Scores[first].Sub(s.Scores[second])
	return race{first: first, second: second, margin: margin, percent: percentOf(margin, s.Power)}, true
}

// decisive finds the ballot of the winning choice without which it would not have
// won.
func (f VoteFacts) decisive() (LargestBallot, race, bool) {
	ahead, found := raceOf(f.Final)
	if !f.ended() || !f.Single || !found || f.Final.Votes < fewestBallots {
		return LargestBallot{}, race{}, false
	}
	for _, ballot := range f.Largest {
		if ballot.Choice == ahead.first && ahead.margin.IsPositive() && ballot.Power.GreaterThan(ahead.margin) {
			return ballot, ahead, true
		}
	}
	return LargestBallot{}, race{}, false
}

// quorumShort says whether a standing misses a quorum that is more than nothing.
func (f VoteFacts) quorumShort(s Standing) bool {
	return f.Quorum != nil && f.Quorum.IsPositive() && s.Counted.LessThan(*f.Quorum)
}
