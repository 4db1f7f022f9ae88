package rules

import "pnyx/governance"

// FindingRule is a rule of findings: when it applies, and what it says.
type FindingRule struct {
	// Name is the name in findings, Version counts changes of the rule.
	Name     string
	Version  int
	Severity governance.Severity
	// Condition is one sentence for readers, Sentence a format of what a finding says.
	Condition, Sentence string
}

// FindingsVersion is the version of the rules together.
const FindingsVersion = 13

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
	AllowanceUnstated = "allowance_not_in_text"
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
var FindingRules = table[FindingRule]("findings.json") //nolint:gochecknoglobals // a constant that Go cannot write as one

// FindingRuleOf returns a rule by its name.
func FindingRuleOf(name string) FindingRule {
	for _, rule := range FindingRules() {
		if rule.Name == name {
			return rule
		}
	}
	return FindingRule{Name: name}
}
