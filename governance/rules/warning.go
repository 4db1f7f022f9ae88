package rules

import "pnyx/governance"

// The codes of warnings; WarningRules describes them.
const (
	VotesDiffer             governance.WarningCode = "votes_differ"
	BallotsRejected         governance.WarningCode = "ballots_rejected"
	TotalDiffers            governance.WarningCode = "total_differs"
	ScoresDiffer            governance.WarningCode = "scores_differ"
	StatusDiffers           governance.WarningCode = "status_differs"
	StateUnknown            governance.WarningCode = "state_unknown"
	StateOutdated           governance.WarningCode = "state_outdated"
	OutcomeDiffersFromVotes governance.WarningCode = "outcome_differs_from_votes"
	TitleDiffers            governance.WarningCode = "title_differs"
	OutcomeDiffers          governance.WarningCode = "outcome_differs"
	ActionsDiffer           governance.WarningCode = "actions_differ"
)

// WarningRule describes one kind of warning.
type WarningRule struct {
	Code governance.WarningCode
	// Field is the field of a proposal's detail or vote summary that is in doubt.
	Field string
	// Meaning is the message that is sent.
	Meaning string
	Details []string
}

// WarningRules lists every kind of warning. Amounts differ when they are further apart
// than one part in 10^9 of the larger, or than 10^-9 where both are below 1, because
// upstream computes in floating point.
var WarningRules = table[WarningRule]("warnings.json") //nolint:gochecknoglobals // a constant that Go cannot write as one

// NewWarning returns a warning with the message and the field of its rule.
func NewWarning(code governance.WarningCode, details map[string]string) governance.Warning {
	w := governance.Warning{Code: code, Details: details}
	for _, rule := range WarningRules() {
		if rule.Code == code {
			w.Message, w.Field = rule.Meaning, rule.Field
		}
	}
	return w
}
