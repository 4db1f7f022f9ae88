package rules

import (
	"cmp"
	"fmt"
	"hash/fnv"

	"pnyx/governance"
)

// Thresholds of the rules.
const (
	// minBallots is the number of ballots from which rules evaluate a result.
	minBallots = 5
	// minDecidedBallots is the number from which one can be said to decide: among a handful, every large one does.
	minDecidedBallots = 10
	// closeMarginPercent is the lead, in percent of all power, up to which a race is close.
	closeMarginPercent = 5
	// whalePercent is the share of all power, in percent, from which one ballot is a whale's.
	whalePercent = 40
	// minQuorumPercent is the share of the quorum, in percent, below which missing it is not reported.
	minQuorumPercent = 10
	// minEarlierVotes is the number of earlier votes that a turnout comparison needs.
	minEarlierVotes = 5
	// overdueDays is how long after its vote an executable proposal may wait.
	overdueDays = 3
	// burstPosts posts within burstDays days make a burst of activity.
	burstPosts = 20
	burstDays  = 3
)

// SignalRule is one type of signal with the rule that derives it.
type SignalRule struct {
	Type string
	// Version changes with the rule, and is part of the evidence.
	Version string
	// Item is what the rule applies to.
	Item governance.ItemType
	// Heading begins titles, before the title of the item; empty for a rule with titles of its own.
	// Severity is one of SeverityInfo, SeverityWarning and SeverityCritical, unless a hit has its own.
	Heading, Severity string
	// Condition, DetectedAt and Scoring describe the rule, and Actionability what a reader can do.
	Condition, DetectedAt, Scoring, Actionability string
	// Evidence names the figures in the evidence, besides "rule" and "ruleVersion".
	Evidence []string
	// detect derives the signal from the facts that it takes.
	detect any
}

// Detect applies a rule to facts about an item with a title, and reports whether it hits. Rules for other facts never do.
func Detect[Facts VoteFacts | TopicActivity | DelegateMove](r SignalRule, facts Facts, title string) (RuleHit, bool) {
	detect, applies := r.detect.(func(Facts) (RuleHit, bool))
	if !applies {
		return RuleHit{}, false
	}
	hit, found := detect(facts)
	if !found {
		return RuleHit{}, false
	}
	hit.Evidence["rule"], hit.Evidence["ruleVersion"] = r.Type, r.Version
	hit.Severity = cmp.Or(hit.Severity, r.Severity)
	if r.Heading != "" {
		hit.Title = r.Heading + ": " + titleText(title)
	}
	return hit, true
}

// talliesVersion is the version of the tallies that rules see. In 2, invalid ballots support nothing; in 3,
// ballots in the form of another vote type are invalid.
const talliesVersion = 3

// FeedRulesVersion is a hash of the rules: what was derived under another one has to be derived again.
func FeedRulesVersion() uint64 {
	hash := fnv.New64a()
	fmt.Fprintln(hash, EventTypes(), importanceVersion, FindingsVersion, talliesVersion)
	for _, rule := range SignalRules() {
		fmt.Fprintln(hash, rule.Type, rule.Version, rule.Actionability)
	}
	return hash.Sum64()
}

// SignalTypeNames lists the types of SignalRules.
func SignalTypeNames() []string {
	var names []string
	for _, rule := range SignalRules() {
		names = append(names, rule.Type)
	}
	return names
}

var signalRows = table[SignalRule]("signals.json") //nolint:gochecknoglobals // a constant that Go cannot write as one

// SignalRules is the closed set of signal types with their rules.
func SignalRules() []SignalRule {
	detectors := map[string]any{
		// These apply while readers can still act.
		"proposal_deadline_reminder": detectDeadline, "quorum_at_risk": detectQuorumAtRisk, "close_race": detectCloseRace,
		"voting_opens_soon": detectOpensSoon, "voting_opened": detectOpened, "sensitive_action": detectSensitive,
		// These apply after the end.
		"contested_result": detectContested, "decisive_ballot": detectDecisive, "whale_ballot": detectWhale, "late_swing": detectSwing,
		"quorum_missed": detectQuorumMissed, "participation_drop": detectDrop, "participation_surge": detectSurge,
		"execution_overdue": detectOverdue,
		// These are about other items.
		"forum_activity_burst": detectBurst, "delegate_power_shift": detectDelegateMove,
	}
	rules := signalRows()
	for i := range rules {
		rules[i].detect = detectors[rules[i].Type]
	}
	return rules
}
