package rules

import (
	"fmt"
	"strings"

	"pnyx/governance"
)

// FindingRule is a rule of findings: when it applies, and what it says.
type FindingRule struct {
	// Name is the name in findings, Version counts changes of the rule.
	Name    string
	Version int
	// Severity says how much it matters.
	Severity governance.Severity
	// Condition is one sentence for readers.
	Condition string
	// Sentence is a format of what a finding says.
	Sentence string
}

// FindingsVersion is the version of the rules together.
const FindingsVersion = 3

// The rules that code names.
const (
	RoleMoved         = "role_moved"
	Upgraded          = "implementation_upgraded"
	SettingChanged    = "governance_setting_changed"
	SettingLowered    = "governance_setting_lowered"
	SettingRaised     = "governance_setting_raised"
	VotingTokenMoved  = "governance_token_moved"
	PayloadChanged    = "payload_changed_after_start"
	GuardianRemoved   = "guardian_removed"
	DelegateCalled    = "delegatecall"
	ApprovedWithout   = "unlimited_approval"
	RecipientUnstated = "recipient_not_in_text"
	AmountUnstated    = "amount_not_in_text"
	AmountMagnitude   = "amount_differs_by_power_of_ten"
	PayloadUnknown    = "payload_unknown"
	PayloadUndecoded  = "payload_undecoded"
	NativeUndecoded   = "value_on_undecoded_call"
	FirstPayer        = "first_proposal_of_proposer_moves_money"
	UnrelatedKinds    = "unrelated_kinds"
	NoDiscussion      = "no_discussion"
	ShortVote         = "short_vote"
	LateQuorum        = "quorum_met_late"
	OneVoter          = "one_voter_decided"
	LateSwing         = "late_swing"
	SameActionsFailed = "same_actions_failed"
	ExpiresSoon       = "expires_soon"
	RecipientUnknown  = "recipient_unknown"
	SimulationFails   = "simulation_fails"
	RecipientKnown    = "recipient_paid_before"
	TimelockTime      = "timelock_leaves_time"
	SignallingOnly    = "signalling_only"
	ConfirmedByRecord = "result_confirmed_by_chain"
)

// FindingRules lists the rules of findings, the severest first.
func FindingRules() []FindingRule {
	const (
		high, medium, info = governance.SeverityHigh, governance.SeverityMedium, governance.SeverityInfo
		low, unknown       = governance.SeverityLow, governance.SeverityUnknown
	)
	return []FindingRule{
		{RoleMoved, 1, high, "A call grants, takes or moves an administrator's or owner's role, an owner of a Safe, or a module.", "%s changes who has power over %s."},
		{Upgraded, 1, high, "A call replaces the code of a contract.", "%s replaces the code of %s."},
		{SettingLowered, 1, high, "A call sets the delay, voting period, quorum or threshold to less than the DAO's last executed proposal that set it.", "%s sets %s, which was %s, to %s."},
		{SettingChanged, 2, high, "A call sets the delay, voting period, quorum or threshold, and no executed proposal says what it was.", "%s sets %s; the value before is not known."},
		{GuardianRemoved, 1, high, "A call sets or takes away a guardian, veto or pause.", "%s changes who may guard, veto or pause."},
		{DelegateCalled, 1, high, "A call runs code of another contract in the name of the caller.", "Code of %s runs in the name of the caller."},
		{ApprovedWithout, 1, high, "A call allows a spender any amount.", "%s may spend any amount of %s."},
		{VotingTokenMoved, 1, high, "The token that votes moves.", "%s moves, which is the token that votes."},
		{PayloadChanged, 1, high, "The calls were replaced after the vote began.", "The calls were replaced after the vote began."},
		{RecipientUnstated, 1, high, "Money moves to an address that the text does not state.", "Money moves to %s, which the text does not state."},
		{AmountMagnitude, 1, high, "The text states the digits of an amount with another power of ten, and not the amount.", "%s moves; the text states %s."},
		{AmountUnstated, 1, high, "Money moves, and the text does not state the amount.", "%s moves, which the text does not state."},
		{SimulationFails, 1, high, "A node that simulates the calls says that they fail.", "As of block %s the calls fail: %s."},
		{PayloadUnknown, 1, unknown, "The proposal executes calls that are not known, or not all of them.", "Calls that are not known: %s."},
		{PayloadUndecoded, 1, unknown, "A call, or one inside, is not decoded.", "A call to %s is not decoded."},
		{NativeUndecoded, 1, medium, "A call that is not decoded takes native money along.", "A call to %s that is not decoded takes native money along."},
		{RecipientUnknown, 1, medium, "An address without code that the DAO's history does not know gets money.", "%s gets money; it has no code and no history in the DAO."},
		{FirstPayer, 1, medium, "The first proposal of its proposer in the DAO moves money.", "The first proposal of %s here moves money."},
		{UnrelatedKinds, 1, medium, "The actions have at least three kinds that change something, of which one moves money or power.", "The actions have %d unrelated kinds."},
		{NoDiscussion, 2, medium, "No discussion is linked, or the first topic was opened less than a third of the DAO's median time before the vote; less than a day where the median is not known.", "The discussion before the vote was shorter than usual, or none is linked."},
		{ShortVote, 1, medium, "The voting time is under half of the median of the DAO's last 50.", "The voting time in hours is %s; the median is %s."},
		{LateQuorum, 1, medium, "The quorum was met in the last hour, or would not have been met without the ballot that met it.", "The quorum was met by the ballot of %s."},
		{OneVoter, 1, medium, "One voter's change of side would have changed the result.", "One voter decided: %s."},
		{LateSwing, 1, medium, "Another choice led when the last tenth of the voting time began.", "Another choice led when the last tenth of the voting time began."},
		{SameActionsFailed, 1, medium, "A proposal with the same actions failed within 90 days before.", "A proposal with the same actions failed within 90 days before: %s."},
		{ExpiresSoon, 1, medium, "The proposal passed, and expires within two days if it is not executed.", "It expires on %s if it is not executed."},
		{SettingRaised, 1, low, "A call sets the delay, voting period, quorum or threshold to more than the DAO's last executed proposal that set it.", "%s sets %s, which was %s, to %s."},
		{RecipientKnown, 1, info, "An earlier executed proposal of the DAO paid the recipient.", "%s was paid before, by %s."},
		{TimelockTime, 1, info, "The timelock lets the proposal be executed a day or more after it was queued.", "Hours in the timelock, in which it can be canceled: %s."},
		{SignallingOnly, 1, info, "No calls are stated: the vote executes nothing by itself.", "The vote executes nothing by itself."},
		{ConfirmedByRecord, 1, info, "A transaction executed the proposal.", "A transaction executed the proposal."},
	}
}

// FindingRuleOf returns a rule by its name.
func FindingRuleOf(name string) FindingRule {
	for _, rule := range FindingRules() {
		if rule.Name == name {
			return rule
		}
	}
	return FindingRule{Name: name}
}

// writeFindings writes the table of findings for docs/rules.md.
func writeFindings(text *strings.Builder) {
	text.WriteString("\n## Findings\n\nWhat `intelligence.dossier.findings` of evidence says; no score follows.\n\n" +
		"| rule | version | severity | condition |\n|---|---|---|---|\n")
	for _, rule := range FindingRules() {
		fmt.Fprintf(text, "| `%s` | %d | %s | %s |\n", rule.Name, rule.Version, rule.Severity, rule.Condition)
	}
}
