package rules

import (
	"fmt"
	"hash/fnv"
	"slices"

	"pnyx/governance"
)

// Thresholds of the rules.
const (
	// minBallots is the number of ballots from which rules evaluate a result.
	minBallots = 5
	// minDecidedBallots is the number from which one of them can be said to decide: among a
	// handful, every large one does.
	minDecidedBallots = 10
	// closeMarginPercent is the lead, in percent of all power, up to which a race is
	// close.
	closeMarginPercent = 5
	// whalePercent is the share of all power, in percent, from which one ballot is a
	// whale's.
	whalePercent = 40
	// minQuorumPercent is the share of the quorum, in percent, below which missing it is
	// not reported.
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
	// Type is the value of the field signalType.
	Type string
	// Version changes with the rule, and is part of the evidence.
	Version string
	// Item is the type of item that the rule applies to.
	Item governance.ItemType
	// Condition, DetectedAt and Scoring describe the rule in words.
	Condition, DetectedAt, Scoring string
	// Actionability says what a reader can do about it.
	Actionability string
	// Evidence names the figures in the evidence, besides "rule" and "ruleVersion".
	Evidence []string

	// onVote, onTopic and onDelegate derive the signal; those for other items are nil.
	onVote     func(VoteFacts) (RuleHit, bool)
	onTopic    func(TopicActivity) (RuleHit, bool)
	onDelegate func(DelegateMove) RuleHit
}

// OnVote applies the rule to a vote, and reports whether it hits. Rules for other items
// never do.
func (r SignalRule) OnVote(f VoteFacts) (RuleHit, bool) {
	if r.onVote == nil {
		return RuleHit{}, false
	}
	hit, found := r.onVote(f)
	return r.sign(hit), found
}

// OnTopic applies the rule to a forum topic, as OnVote does to a vote.
func (r SignalRule) OnTopic(f TopicActivity) (RuleHit, bool) {
	if r.onTopic == nil {
		return RuleHit{}, false
	}
	hit, found := r.onTopic(f)
	return r.sign(hit), found
}

// OnDelegate applies the rule to a move of a delegate, as OnVote does to a vote.
func (r SignalRule) OnDelegate(m DelegateMove) (RuleHit, bool) {
	if r.onDelegate == nil {
		return RuleHit{}, false
	}
	return r.sign(r.onDelegate(m)), true
}

func (r SignalRule) sign(hit RuleHit) RuleHit {
	if hit.Evidence != nil {
		hit.Evidence["rule"], hit.Evidence["ruleVersion"] = r.Type, r.Version
	}
	return hit
}

// talliesVersion is the version of the tallies that rules see. In 2, invalid ballots support nothing.
const talliesVersion = 2

// FeedRulesVersion is a hash of the event types and the signal rules. Events and signals
// that were derived under another version have to be derived again.
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

// SignalRules is the closed set of signal types with their rules.
func SignalRules() []SignalRule {
	return slices.Concat(rulesBeforeTheEnd(), rulesAfterTheEnd(), delegateRules())
}

// rulesBeforeTheEnd apply while readers can still act.
func rulesBeforeTheEnd() []SignalRule {
	return []SignalRule{
		{
			Type: "proposal_deadline_reminder", Version: "2", Item: governance.ProposalItem, Actionability: VoteNow,
			Condition:  "The voting ends within 24 hours.",
			DetectedAt: "24 hours before the end; at the start where the voting is shorter",
			Scoring:    "50; 65 with a warning where the quorum is not reached by then; weighed by the usual ballots",
			Evidence:   []string{"endAt", "votes", "quorumProgressPercent"},
			onVote:     detectDeadline,
		},
		{
			Type: "quorum_at_risk", Version: "2", Item: governance.ProposalItem, Actionability: VoteNow,
			Condition:  "12 hours before the end the counted power is below the quorum, and there are ballots.",
			DetectedAt: "12 hours before the end",
			Scoring:    "55, and 35 times the part of the quorum that is reached: the nearer, the more a ballot can do; weighed",
			Evidence:   []string{"counted", "quorum", "quorumProgressPercent", "votes"},
			onVote:     detectQuorumAtRisk,
		},
		{
			Type: "close_race", Version: "2", Item: governance.ProposalItem, Actionability: VoteNow,
			Condition:  "6 hours before the end the lead is at most 5 % of all power, over at least 5 ballots.",
			DetectedAt: "6 hours before the end",
			Scoring:    "60, and 6 for each percent that the lead is below 5; weighed",
			Evidence:   []string{"leading", "leadingPower", "second", "secondPower", "marginPercent", "votes"},
			onVote:     detectCloseRace,
		},
		{
			Type: "voting_opens_soon", Version: "1", Item: governance.ProposalItem, Actionability: Review,
			Condition:  "The voting opens within 24 hours, on a proposal that was published at least an hour before.",
			DetectedAt: "24 hours before the start; as the proposal is published where that is later",
			Scoring:    "35; weighed by the usual ballots",
			Evidence:   []string{"startAt", "endAt"},
			onVote:     detectOpensSoon,
		},
		{
			Type: "voting_opened", Version: "1", Item: governance.ProposalItem, Actionability: VoteNow,
			Condition:  "The voting has opened.",
			DetectedAt: "the start",
			Scoring:    "40; weighed by the usual ballots",
			Evidence:   []string{"startAt", "endAt"},
			onVote:     detectOpened,
		},
		{
			Type: "sensitive_action", Version: "1", Item: governance.ProposalItem, Actionability: Review,
			Condition:  "The proposal is open for votes, about to open, or queued, and a finding about what it executes is critical, high or unknown. Withdrawn once it is decided or executed.",
			DetectedAt: "the creation of the proposal; the last replacement of its calls where that is later",
			Scoring:    "90 with a critical finding, 75 with a high one, else 50",
			Evidence:   []string{"highestSeverity", "findings"},
			onVote:     detectSensitive,
		},
		{
			Type: "forum_activity_burst", Version: "1", Item: governance.TopicItem, Actionability: Monitor,
			Condition:  "A topic got at least 20 posts, all within 3 days.",
			DetectedAt: "the last post",
			Scoring:    "35, and 5 for each further 10 posts, at most 75",
			Evidence:   []string{"posts", "hours"},
			onTopic:    detectBurst,
		},
	}
}

func rulesAfterTheEnd() []SignalRule {
	return []SignalRule{
		{
			Type: "contested_result", Version: "2", Item: governance.ProposalItem, Actionability: Review,
			Condition:  "The vote was decided by a lead of at most 5 % of all power, over at least 5 ballots.",
			DetectedAt: "the end", Scoring: "50, and 6 for each percent that the lead is below 5; weighed",
			Evidence: []string{"leading", "leadingPower", "second", "secondPower", "marginPercent", "votes"},
			onVote:   detectContested,
		},
		{
			Type: "decisive_ballot", Version: "2", Item: governance.ProposalItem, Actionability: Review,
			Condition:  "The vote was decided by a lead, and one ballot for the winning choice is larger than it, over at least 10 ballots.",
			DetectedAt: "the end", Scoring: "50, and half of the ballot's part of all power in percent; weighed",
			Evidence: []string{"voter", "choice", "power", "sharePercent", "margin", "votes"},
			onVote:   detectDecisive,
		},
		{
			Type: "whale_ballot", Version: "2", Item: governance.ProposalItem, Actionability: Monitor,
			Condition:  "One ballot carries at least 40 % of all power in a valid vote, over at least 10 ballots, without being decisive.",
			DetectedAt: "the end", Scoring: "20, and half of the ballot's part of all power in percent; weighed",
			Evidence: []string{"voter", "choice", "power", "sharePercent", "votes"},
			onVote:   detectWhale,
		},
		{
			Type: "late_swing", Version: "2", Item: governance.ProposalItem, Actionability: Review,
			Condition:  "The vote was decided by a lead, and another choice led 24 hours before the end, over at least 5 ballots by then.",
			DetectedAt: "the end", Scoring: "65, and the part of all power cast on the last day in percent, times 0.3; weighed",
			Evidence: []string{"ledBefore", "won", "marginPercent", "lastDayPercent", "votes"},
			onVote:   detectSwing,
		},
		{
			Type: "quorum_missed", Version: "2", Item: governance.ProposalItem, Actionability: Review,
			Condition:  "The vote ended with at least a tenth of the quorum, but below it.",
			DetectedAt: "the end", Scoring: "25, and half of the part of the quorum that was reached in percent; weighed",
			Evidence: []string{"counted", "quorum", "quorumProgressPercent", "votes"},
			onVote:   detectQuorumMissed,
		},
		{
			Type: "participation_drop", Version: "2", Item: governance.ProposalItem, Actionability: Monitor,
			Condition:  "Fewer than half as many voted as usual, which is at least 10.",
			DetectedAt: "the end", Scoring: "30, and 0.4 for each percent below the half; weighed by the usual ballots",
			Evidence: []string{"votes", "medianVotes", "percentOfMedian", "earlierVotes"},
			onVote:   detectDrop,
		},
		{
			Type: "participation_surge", Version: "2", Item: governance.ProposalItem, Actionability: Review,
			Condition:  "At least three times as many voted as usual, and at least 20 did.",
			DetectedAt: "the end", Scoring: "45, and 5 for each further multiple of the median, at most 80; weighed, and by the usual ballots",
			Evidence: []string{"votes", "medianVotes", "percentOfMedian", "earlierVotes"},
			onVote:   detectSurge,
		},
		{
			Type: "execution_overdue", Version: "1", Item: governance.ProposalItem, Actionability: Execute,
			Condition:  "An on-chain proposal passed, and was not executed 3 days after its vote.",
			DetectedAt: "3 days after the end", Scoring: "70",
			Evidence: []string{"endAt", "outcome"},
			onVote:   detectOverdue,
		},
	}
}
