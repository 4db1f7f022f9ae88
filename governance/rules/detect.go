package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// points cuts a number of points to a whole one.
func points(of decimal.Decimal) int { return int(of.IntPart()) }

// tenths returns n ÷ 10.
func tenths(n int64) decimal.Decimal { return decimal.New(n, -1) }

// detectDeadline hits for every vote with a known end, unless it was canceled. A vote
// shorter than the window is reported from its start, and then without interim figures.
func detectDeadline(f VoteFacts) (RuleHit, bool) {
	if f.EndAt == nil || f.Outcome == governance.Canceled {
		return RuleHit{}, false
	}
	at, under := f.windowStart(ReminderWindow)
	if f.overBefore(at) || !under && (f.StartAt == nil || *f.StartAt >= *f.EndAt) {
		return RuleHit{}, false
	}
	if !under {
		at = *f.StartAt
	}
	found := RuleHit{
		DetectedAt: at, DeadlineAt: f.closesAt(), Score: f.weighBefore(50),
		Summary:  "Voting ends on " + hourText(*f.EndAt) + ".",
		Evidence: map[string]string{"endAt": f.EndAt.String()},
	}
	standing, known := f.Before[ReminderWindow]
	if !known || !under {
		return found, true
	}
	found.Evidence["votes"] = strconv.FormatUint(standing.Votes, 10)
	found.Summary += " " + ballotsSoFar(standing.Votes)
	if f.Quorum != nil && f.Quorum.IsPositive() {
		progress := percentOf(standing.Counted, *f.Quorum)
		found.Evidence["quorumProgressPercent"] = progress.String()
		if f.missesQuorum(standing) {
			found.Score, found.Severity = f.weighBefore(65), SeverityWarning
			found.Summary += fmt.Sprintf(" They make %s%% of the quorum.", progress)
		}
	}
	return found, true
}

// opens reports whether voting opens, and ends, at a known time.
func (f VoteFacts) opens() bool {
	return f.StartAt != nil && f.EndAt != nil && *f.StartAt < *f.EndAt && f.Outcome != governance.Canceled
}

// detectOpensSoon hits for a proposal that can be read before its voting opens.
func detectOpensSoon(f VoteFacts) (RuleHit, bool) {
	if !f.opens() || f.CreatedAt == nil {
		return RuleHit{}, false
	}
	at := max(*f.CreatedAt, *f.StartAt-governance.Timestamp(openingWindow.Milliseconds()))
	if at > *f.StartAt-governance.Timestamp(openingNotice.Milliseconds()) {
		return RuleHit{}, false
	}
	return RuleHit{
		DetectedAt: at, DeadlineAt: f.StartAt, Score: f.weighBefore(35),
		Summary:  "Voting is open from " + hourText(*f.StartAt) + " until " + hourText(*f.EndAt) + ".",
		Evidence: map[string]string{"startAt": f.StartAt.String(), "endAt": f.EndAt.String()},
	}, true
}

// detectOpened hits for every vote with known times.
func detectOpened(f VoteFacts) (RuleHit, bool) {
	if !f.opens() {
		return RuleHit{}, false
	}
	return RuleHit{
		DetectedAt: *f.StartAt, DeadlineAt: f.closesAt(), Score: f.weighBefore(40),
		Summary:  "Voting is open until " + hourText(*f.EndAt) + ".",
		Evidence: map[string]string{"startAt": f.StartAt.String(), "endAt": f.EndAt.String()},
	}, true
}

func ballotsSoFar(votes uint64) string {
	switch votes {
	case 0:
		return "Nobody has voted yet."
	case 1:
		return "One ballot has been cast so far."
	}
	return countText(votes) + " ballots have been cast so far."
}

// detectQuorumAtRisk hits when ballots exist, but do not make the quorum when QuorumWindow begins.
func detectQuorumAtRisk(f VoteFacts) (RuleHit, bool) {
	at, under := f.windowStart(QuorumWindow)
	standing, known := f.Before[QuorumWindow]
	if !under || !known || standing.Votes == 0 || !f.missesQuorum(standing) {
		return RuleHit{}, false
	}
	progress := percentOf(standing.Counted, *f.Quorum)
	return RuleHit{
		DetectedAt: at, DeadlineAt: f.closesAt(), Score: f.weigh(55+points(progress.Mul(decimal.New(35, -2))), standing),
		Summary: fmt.Sprintf("12 hours before the end the quorum was %s%% full: %s of %s in voting power.",
			progress, amountText(standing.Counted), amountText(*f.Quorum)),
		Evidence: quorumEvidence(standing, *f.Quorum, progress),
	}, true
}

// quorumEvidence returns the figures of both quorum rules.
func quorumEvidence(s Result, quorum, progress decimal.Decimal) map[string]string {
	return map[string]string{
		"counted": s.Counted.String(), "quorum": quorum.String(),
		"quorumProgressPercent": progress.String(), "votes": strconv.FormatUint(s.Votes, 10),
	}
}

// detectCloseRace hits when the two leading choices are close when RaceWindow begins.
func detectCloseRace(f VoteFacts) (RuleHit, bool) {
	at, under := f.windowStart(RaceWindow)
	standing, known := f.Before[RaceWindow]
	ahead, tight := f.closeRace(standing)
	if !under || !known || !f.isRace() || !tight {
		return RuleHit{}, false
	}
	return RuleHit{
		DetectedAt: at, DeadlineAt: f.closesAt(), Score: f.weigh(60+points(decimal.NewFromInt(closeMarginPercent).Sub(ahead.percent).Mul(decimal.NewFromInt(6))), standing),
		Summary: fmt.Sprintf("6 hours before the end %s led %s by %s%% of all power.",
			f.label(ahead.first), f.label(ahead.second), ahead.percent),
		Evidence: f.raceEvidence(standing, ahead),
	}, true
}

// closeRace returns the two leading choices, and whether they are close over enough ballots.
func (f VoteFacts) closeRace(s Result) (leadingChoices, bool) {
	ahead, found := f.leadingPair(s)
	return ahead, found && s.Votes >= minBallots && ahead.margin.Shift(2).LessThanOrEqual(s.Power.Mul(decimal.NewFromInt(closeMarginPercent)))
}

func (f VoteFacts) label(choice int) string { return Quoted(f.Choices[choice].Label, maxLabelRunes) }

// raceEvidence returns the figures of both rules on narrow margins.
func (f VoteFacts) raceEvidence(s Result, r leadingChoices) map[string]string {
	return map[string]string{
		"leading": f.Choices[r.first].Key, "leadingPower": s.Scores[r.first].String(),
		"second": f.Choices[r.second].Key, "secondPower": s.Scores[r.second].String(),
		"marginPercent": r.percent.String(), "votes": strconv.FormatUint(s.Votes, 10),
	}
}

// detectContested is detectCloseRace for the final result.
func detectContested(f VoteFacts) (RuleHit, bool) {
	ahead, tight := f.closeRace(f.Final)
	if !tight || !f.decides(ahead.first) {
		return RuleHit{}, false
	}
	summary := fmt.Sprintf("%s is ahead of %s by %s%% of all power: %s against %s.", f.label(ahead.first), f.label(ahead.second),
		ahead.percent, amountText(f.Final.Scores[ahead.first]), amountText(f.Final.Scores[ahead.second]))
	if ahead.margin.IsZero() {
		summary = fmt.Sprintf("%s and %s are level, at %s each.", f.label(ahead.first), f.label(ahead.second),
			amountText(f.Final.Scores[ahead.first]))
	}
	return RuleHit{
		DetectedAt: *f.EndAt, Score: f.weigh(50+points(decimal.NewFromInt(closeMarginPercent).Sub(ahead.percent).Mul(decimal.NewFromInt(6))), f.Final),
		Summary: summary, Evidence: f.raceEvidence(f.Final, ahead),
	}, true
}

// detectDecisive hits when the result depends on one ballot; see decisive.
func detectDecisive(f VoteFacts) (RuleHit, bool) {
	ballot, ahead, found := f.decisive()
	if !found {
		return RuleHit{}, false
	}
	share := percentOf(ballot.Power, f.Final.Power)
	evidence := f.ballotEvidence(ballot, share)
	evidence["margin"] = ahead.margin.String()
	return RuleHit{
		DetectedAt: *f.EndAt, Score: f.weigh(50+points(share.Mul(tenths(5))), f.Final),
		Summary: fmt.Sprintf("%s cast %s for %s: more than its lead of %s over %s.", voterText(ballot.Voter),
			amountText(ballot.Power), f.label(ahead.first), amountText(ahead.margin), f.label(ahead.second)),
		Evidence: evidence,
	}, true
}

// ballotEvidence returns the figures of single ballots, with their share of all power in percent.
func (f VoteFacts) ballotEvidence(b LargestBallot, share decimal.Decimal) map[string]string {
	return map[string]string{
		"voter": b.Voter, "choice": f.Choices[b.Choice].Key, "power": b.Power.String(),
		"sharePercent": share.String(), "votes": strconv.FormatUint(f.Final.Votes, 10),
	}
}

// detectWhale hits when one ballot has a large share of all power, unless detectDecisive does.
func detectWhale(f VoteFacts) (RuleHit, bool) {
	if _, _, decisive := f.decisive(); decisive || !f.valid() || f.Final.Votes < minDecidedBallots || len(f.LargestBallots) == 0 {
		return RuleHit{}, false
	}
	largest := slices.MaxFunc(f.LargestBallots, func(a, b LargestBallot) int {
		return cmp.Or(a.Power.Cmp(b.Power), cmp.Compare(b.Choice, a.Choice))
	})
	share := percentOf(largest.Power, f.Final.Power)
	if share.LessThan(decimal.NewFromInt(whalePercent)) {
		return RuleHit{}, false
	}
	return RuleHit{
		DetectedAt: *f.EndAt, Score: f.weigh(20+points(share.Mul(tenths(5))), f.Final),
		Summary: fmt.Sprintf("%s cast %s%% of all power, %s, for %s.",
			voterText(largest.Voter), share, amountText(largest.Power), f.label(largest.Choice)),
		Evidence: f.ballotEvidence(largest, share),
	}, true
}

// detectSwing hits when another choice leads at the end than when ReminderWindow began.
func detectSwing(f VoteFacts) (RuleHit, bool) {
	_, under := f.windowStart(ReminderWindow)
	before, known := f.Before[ReminderWindow]
	if !under || !known || before.Votes < minBallots {
		return RuleHit{}, false
	}
	then, found := f.leader(before)
	now, won := f.leader(f.Final)
	if !found || !won || then == now || !f.decides(now) {
		return RuleHit{}, false
	}
	ahead, _ := f.leadingPair(f.Final)
	late := percentOf(f.Final.Power.Sub(before.Power), f.Final.Power)
	return RuleHit{
		DetectedAt: *f.EndAt, Score: f.weigh(65+points(late.Mul(tenths(3))), f.Final),
		Summary: fmt.Sprintf("%s led until a day before the end; %s came out ahead with %s%% of all power cast on the last day.",
			f.label(then), f.label(now), late),
		Evidence: map[string]string{
			"ledBefore": f.Choices[then].Key, "won": f.Choices[now].Key, "marginPercent": ahead.percent.String(),
			"lastDayPercent": late.String(), "votes": strconv.FormatUint(f.Final.Votes, 10),
		},
	}, true
}

// leader returns the choice with the most power among those that can win; none where several are equal.
func (f VoteFacts) leader(s Result) (choice int, found bool) {
	choice = -1
	for i, score := range s.Scores {
		if f.competes(i) && score.IsPositive() && (choice < 0 || score.GreaterThanOrEqual(s.Scores[choice])) {
			found = choice < 0 || score.GreaterThan(s.Scores[choice])
			choice = i
		}
	}
	return choice, found
}

// detectQuorumMissed hits when the final result is below the quorum, but has minQuorumPercent of it.
func detectQuorumMissed(f VoteFacts) (RuleHit, bool) {
	if !f.ended() || !f.missesQuorum(f.Final) {
		return RuleHit{}, false
	}
	progress := percentOf(f.Final.Counted, *f.Quorum)
	if progress.LessThan(decimal.NewFromInt(minQuorumPercent)) {
		return RuleHit{}, false
	}
	return RuleHit{
		DetectedAt: *f.EndAt, Score: f.weigh(25+points(progress.Mul(tenths(5))), f.Final),
		Summary: fmt.Sprintf("At the end the quorum was %s%% full: %s of %s in voting power.",
			progress, amountText(f.Final.Counted), amountText(*f.Quorum)),
		Evidence: quorumEvidence(f.Final, *f.Quorum, progress),
	}, true
}

// compared compares the number of ballots with the usual one, if known, and returns what both rules on it tell.
func (f VoteFacts) compared() (hit RuleHit, usual, percent decimal.Decimal, known bool) {
	usual, known = f.usualVotes()
	if !known || !f.ended() || !usual.IsPositive() {
		return RuleHit{}, decimal.Zero, decimal.Zero, false
	}
	percent = percentOf(decimal.NewFromUint64(f.Final.Votes), usual)
	return RuleHit{
		DetectedAt: *f.EndAt,
		Summary: fmt.Sprintf("%s; the usual number here is %s.",
			counted(f.Final.Votes, "ballot was cast", "ballots were cast"), usual.Truncate(0)),
		Evidence: map[string]string{
			"votes": strconv.FormatUint(f.Final.Votes, 10), "medianVotes": usual.String(),
			"percentOfMedian": percent.String(), "earlierVotes": strconv.Itoa(len(f.EarlierVotes)),
		},
	}, usual, percent, true
}

// detectDrop hits when turnout is below half of the median, which is at least 10 ballots.
func detectDrop(f VoteFacts) (RuleHit, bool) {
	hit, median, percent, known := f.compared()
	half := decimal.NewFromInt(50)
	if !known || median.LessThan(decimal.NewFromInt(10)) || percent.GreaterThanOrEqual(half) {
		return RuleHit{}, false
	}
	hit.Score = f.weighBefore(30 + points(half.Sub(percent).Mul(tenths(4))))
	return hit, true
}

// detectSurge hits when turnout is at least three times the median, and at least 20 ballots.
func detectSurge(f VoteFacts) (RuleHit, bool) {
	hit, _, percent, known := f.compared()
	if !known || f.Final.Votes < 20 || percent.LessThan(decimal.NewFromInt(300)) {
		return RuleHit{}, false
	}
	hit.Score = f.weighBefore(f.weigh(min(80, 45+5*(points(percent)/100-3)), f.Final))
	return hit, true
}

// detectOverdue hits for a proposal that passed and was not executed within overdueDays. A later
// execution does not withdraw the signal, so that a past window stays the same: it is its deadline.
func detectOverdue(f VoteFacts) (RuleHit, bool) {
	if !f.ended() || !f.Onchain || f.Outcome != governance.Passed && f.Outcome != governance.Executed {
		return RuleHit{}, false
	}
	at := *f.EndAt + governance.Timestamp((overdueDays * 24 * time.Hour).Milliseconds())
	if f.Outcome == governance.Executed && (f.ExecutedAt == nil || *f.ExecutedAt <= at) {
		return RuleHit{}, false
	}
	return RuleHit{
		DetectedAt: at, DeadlineAt: f.ExecutedAt, Score: 70,
		Summary:  fmt.Sprintf("The vote ended on %s, and %d days later nothing had been executed.", hourText(*f.EndAt), overdueDays),
		Evidence: map[string]string{"endAt": f.EndAt.String(), "outcome": string(governance.Passed)},
	}, true
}

// detectBurst hits for burstPosts posts within burstDays days of a topic's opening.
func detectBurst(f TopicActivity) (RuleHit, bool) {
	if f.CreatedAt == nil || f.LastPostAt == nil || f.Posts < burstPosts || *f.LastPostAt < *f.CreatedAt {
		return RuleHit{}, false
	}
	lasted := f.LastPostAt.Time().Sub(f.CreatedAt.Time())
	if lasted > burstDays*24*time.Hour {
		return RuleHit{}, false
	}
	hours := uint64(*f.LastPostAt-*f.CreatedAt) / uint64(time.Hour.Milliseconds()) //nolint:gosec // not negative, see above
	return RuleHit{
		DetectedAt: *f.LastPostAt,
		Score:      int(min(75, 35+5*((f.Posts-burstPosts)/10))),
		Summary:    fmt.Sprintf("%s posts within %s of its opening.", countText(f.Posts), counted(max(hours, 1), "hour", "hours")),
		Evidence:   map[string]string{"posts": strconv.FormatUint(f.Posts, 10), "hours": strconv.FormatUint(hours, 10)},
	}, true
}

// detectSensitive hits for a proposal with findings that are critical, high or unknown. It names the
// rules alone: what they found is part of the dossier.
func detectSensitive(f VoteFacts) (RuleHit, bool) {
	sensitive := []governance.Severity{governance.SeverityCritical, governance.SeverityHigh, governance.SeverityUnknown}
	worst := len(sensitive)
	var names []string
	for _, finding := range f.Findings {
		if at := slices.Index(sensitive, finding.Severity); at >= 0 {
			worst, names = min(worst, at), append(names, finding.Rule)
		}
	}
	if len(names) == 0 {
		return RuleHit{}, false
	}
	slices.Sort(names)
	names = slices.Compact(names)
	hit := RuleHit{
		DetectedAt: f.ActionsAt, DeadlineAt: f.ActUntil, Score: []int{90, 75, 50}[worst],
		Summary:  "What it executes needs a review: " + strings.Join(names, ", ") + ". See the findings of its evidence.",
		Evidence: map[string]string{"highestSeverity": string(sensitive[worst]), "findings": strings.Join(names, ",")},
	}
	if worst == 0 {
		hit.Severity = SeverityCritical
	}
	return hit, true
}
