package rules

import (
	"cmp"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// How long before the end of voting the deadline, quorum and close-race rules evaluate a proposal.
const (
	ReminderWindow = 24 * time.Hour
	QuorumWindow   = 12 * time.Hour
	RaceWindow     = 6 * time.Hour
)

// How long before the start of voting its opening is announced, and how long a proposal has to be known by then.
const (
	openingWindow = 24 * time.Hour
	openingNotice = time.Hour
)

// Result is the result of a vote at some moment, from the ballots cast before it. A voter who votes again counts
// with the last ballot only, at its time: no interim result has the ballots that it replaced.
type Result struct {
	Votes uint64
	// Power is the power of all ballots, Counted the part that counts towards the quorum.
	Power, Counted decimal.Decimal
	// Scores holds the score of each choice, in order of VoteFacts.Choices.
	Scores []decimal.Decimal
}

// LargestBallot is the ballot with the most power on one choice.
type LargestBallot struct {
	Voter string
	// Choice is an index into VoteFacts.Choices.
	Choice int
	Power  decimal.Decimal
}

// VoteFacts is the input of the rules for votes.
type VoteFacts struct {
	// Title is the proposal's title, empty where upstream states none.
	Title string
	// Choices are the proposal's choices, and Verdicts their meanings, in order.
	Choices  []governance.Choice
	Verdicts []governance.Verdict
	// CreatedAt is nil where unknown, StartAt and EndAt unless known to the hour.
	CreatedAt, StartAt, EndAt *governance.Timestamp
	// OverAt is when upstream stated the vote as over before EndAt; nil if it did not.
	OverAt  *governance.Timestamp
	Outcome governance.Outcome
	// Closed says that the vote ended at EndAt, with Final as its result.
	Closed bool
	// Onchain says that a transaction executes a proposal that passes, ExecutedAt when it did; nil where unknown.
	Onchain    bool
	ExecutedAt *governance.Timestamp
	// Findings are those about what the proposal executes, while it can be voted on or is queued.
	Findings []governance.Finding
	// ActUntil is the end of the vote, or the earliest execution of a queued proposal; nil where unknown.
	ActUntil *governance.Timestamp
	// ActionsAt is when the proposal, or what it executes, was last stated.
	ActionsAt governance.Timestamp
	// Quorum is nil where none is published.
	Quorum *decimal.Decimal
	// ByRejection says that the proposal passes unless the second choice exceeds a quorum: the leader does not win.
	ByRejection bool
	// Single says that each ballot gives all its power to one choice, so that it is comparable with the result.
	Single bool
	Final  Result
	// Before holds the interim results, by window; empty unless the time of every ballot is known.
	Before map[time.Duration]Result
	// LargestBallots holds the largest ballots of each choice.
	LargestBallots []LargestBallot
	// EarlierVotes and EarlierPowers are the ballots, and their power, of each of the last votes of the source
	// that ended before this one began, at most 10.
	EarlierVotes  []uint64
	EarlierPowers []decimal.Decimal
}

// TopicActivity is the input of the rules for forum topics.
type TopicActivity struct {
	Title string
	// Posts counts all posts, the first included. CreatedAt and LastPostAt are nil where unknown.
	Posts                 uint64
	CreatedAt, LastPostAt *governance.Timestamp
}

// RuleHit is the output of a rule that applies: a signal but for its item.
type RuleHit struct {
	// DetectedAt is the moment at which the rule's condition became true.
	DetectedAt governance.Timestamp
	// DeadlineAt is when acting on the signal ends; nil where there is no deadline.
	DeadlineAt *governance.Timestamp
	// Score is the priority, 0 to 100; see PriorityOf.
	Score int
	// Severity is one of SeverityInfo, SeverityWarning and SeverityCritical.
	Severity string
	// Title and Summary are sentences for readers.
	Title, Summary string
	// Evidence holds the figures that the rule used; decimals are text.
	Evidence map[string]string
}

// windowStart returns the moment a window before the end, and whether the vote was under way then: it may have
// begun later, or have ended by an earlier decision.
func (f VoteFacts) windowStart(window time.Duration) (governance.Timestamp, bool) {
	if f.EndAt == nil || f.Outcome == governance.Canceled {
		return 0, false
	}
	at := *f.EndAt - governance.Timestamp(window.Milliseconds())
	return at, at >= 0 && !f.overBefore(at) && (f.StartAt == nil || *f.StartAt <= at)
}

func (f VoteFacts) overBefore(at governance.Timestamp) bool {
	return f.OverAt != nil && *f.OverAt <= at
}

// closesAt returns when nobody can vote any more.
func (f VoteFacts) closesAt() *governance.Timestamp { return cmp.Or(f.OverAt, f.EndAt) }

func (f VoteFacts) ended() bool {
	return f.Closed && f.EndAt != nil && f.Outcome != governance.Canceled
}

// leadingChoices are the two choices with the most power, as indexes.
type leadingChoices struct {
	first, second int
	// margin is the difference of their scores, and percent the same in percent of all power cast.
	margin, percent decimal.Decimal
}

// competes reports whether a choice can win. An abstention supports none.
func (f VoteFacts) competes(choice int) bool {
	return choice >= len(f.Verdicts) || f.Verdicts[choice] != governance.Abstains
}

// leadingPair returns the two choices with the most power that can win; false unless both have power.
func (f VoteFacts) leadingPair(r Result) (leadingChoices, bool) {
	first, second := -1, -1
	for i, score := range r.Scores {
		switch {
		case !f.competes(i):
		case first < 0 || score.GreaterThan(r.Scores[first]):
			first, second = i, first
		case second < 0 || score.GreaterThan(r.Scores[second]):
			second = i
		}
	}
	if second < 0 || !r.Scores[second].IsPositive() {
		return leadingChoices{}, false
	}
	margin := r.Scores[first].Sub(r.Scores[second])
	return leadingChoices{first: first, second: second, margin: margin, percent: percentOf(margin, r.Power)}, true
}

// isRace reports whether the leader wins, and ballots are comparable with its lead.
func (f VoteFacts) isRace() bool { return f.Single && !f.ByRejection }

// valid reports whether the vote ended with a result that counts: the quorum was met.
func (f VoteFacts) valid() bool { return f.ended() && f.isRace() && !f.missesQuorum(f.Final) }

// decides reports whether the lead of a choice decides the outcome: more, as two thirds, may have been needed.
func (f VoteFacts) decides(leader int) bool {
	if !f.valid() || leader >= len(f.Verdicts) {
		return f.valid()
	}
	switch f.Verdicts[leader] {
	case governance.Approves:
		return f.Outcome != governance.Failed
	case governance.Rejects:
		return f.Outcome != governance.Passed && f.Outcome != governance.Executed
	case governance.NoVerdict, governance.Abstains:
	}
	return true
}

// decisive returns the ballot for the winning choice without which the choice would not have won.
func (f VoteFacts) decisive() (LargestBallot, leadingChoices, bool) {
	leading, found := f.leadingPair(f.Final)
	if !found || !f.decides(leading.first) || f.Final.Votes < minDecidedBallots {
		return LargestBallot{}, leadingChoices{}, false
	}
	for _, ballot := range f.LargestBallots {
		if ballot.Choice == leading.first && leading.margin.IsPositive() && ballot.Power.GreaterThan(leading.margin) {
			return ballot, leading, true
		}
	}
	return LargestBallot{}, leadingChoices{}, false
}

// missesQuorum reports whether a result is below a quorum that is above zero.
func (f VoteFacts) missesQuorum(r Result) bool {
	return f.Quorum != nil && f.Quorum.IsPositive() && r.Counted.LessThan(*f.Quorum)
}
