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
	// onVote, onTopic and onDelegate derive the signal; those for other items are nil.
	onVote     func(VoteFacts) (RuleHit, bool)
	onTopic    func(TopicActivity) (RuleHit, bool)
	onDelegate func(DelegateMove) (RuleHit, bool)
}

// OnVote applies the rule to a vote, and reports whether it hits. Rules for other items never do.
func (r SignalRule) OnVote(f VoteFacts) (RuleHit, bool) { return detect(r, r.onVote, f, f.Title) }

// OnTopic applies the rule to a forum topic, as OnVote does to a vote.
func (r SignalRule) OnTopic(f TopicActivity) (RuleHit, bool) { return detect(r, r.onTopic, f, f.Title) }

// OnDelegate applies the rule to a move of a delegate, as OnVote does to a vote.
func (r SignalRule) OnDelegate(m DelegateMove) (RuleHit, bool) { return detect(r, r.onDelegate, m, "") }

func detect[Facts any](r SignalRule, on func(Facts) (RuleHit, bool), facts Facts, title string) (RuleHit, bool) {
	if on == nil {
		return RuleHit{}, false
	}
	hit, found := on(facts)
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

// FeedRulesVersion is a hash of event types and signal rules: feeds of another one have to be derived again.
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
	onVote := map[string]func(VoteFacts) (RuleHit, bool){
		// These apply while readers can still act.
		"proposal_deadline_reminder": detectDeadline, "quorum_at_risk": detectQuorumAtRisk, "close_race": detectCloseRace,
		"voting_opens_soon": detectOpensSoon, "voting_opened": detectOpened, "sensitive_action": detectSensitive,
		// These apply after the end.
		"contested_result": detectContested, "decisive_ballot": detectDecisive, "whale_ballot": detectWhale, "late_swing": detectSwing,
		"quorum_missed": detectQuorumMissed, "participation_drop": detectDrop, "participation_surge": detectSurge,
		"execution_overdue": detectOverdue,
	}
	rules := signalRows()
	for i := range rules {
		switch rule := &rules[i]; rule.Type {
		case "forum_activity_burst":
			rule.onTopic = detectBurst
		case "delegate_power_shift":
			rule.onDelegate = detectDelegateMove
		default:
			rule.onVote = onVote[rule.Type]
		}
	}
	return rules
}
