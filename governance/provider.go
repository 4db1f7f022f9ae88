package governance

import (
	"strconv"

	"github.com/shopspring/decimal"
)

// Choice keys of a Governor.
const (
	GovernorFor     = "for"
	GovernorAgainst = "against"
	GovernorAbstain = "abstain"
)

// Upstream states of a proposal that can still be voted on.
const (
	UpstreamPending = "pending"
	UpstreamActive  = "active"
)

// ChoiceKey returns the key of the choice at a position, counted from 0. Governors name
// their three choices, all others number them from 1.
func ChoiceKey(provider Provider, position int) string {
	governor := []string{GovernorFor, GovernorAgainst, GovernorAbstain}
	if provider == Tally && position < len(governor) {
		return governor[position]
	}
	return strconv.Itoa(position + 1)
}

// QuorumPower returns the voting power that counts towards a proposal's quorum: all of
// it on Snapshot, that of for and abstain in a Governor. powerOf returns the power that
// supports a choice.
func QuorumPower(
	provider Provider, total decimal.Decimal, powerOf func(choiceKey string) decimal.Decimal,
) decimal.Decimal {
	if provider != Tally {
		return total
	}
	return powerOf(GovernorFor).Add(powerOf(GovernorAbstain))
}

// IsVoteOver reports whether upstream states that a vote has ended: by the provider's
// state of the proposal, or by the status that the DAO itself keeps next to Snapshot.
func IsVoteOver(state, daoStatus string) bool {
	if outcome, known := DAOStatusOutcome(daoStatus); known && outcome != Unknown {
		return true
	}
	return state != "" && state != UpstreamActive && state != UpstreamPending
}

// StatedOutcome returns the outcome that upstream states, if it states one. A Governor
// states it by the proposal's state, Snapshot only by the DAO's own status.
func StatedOutcome(provider Provider, state, daoStatus string) (outcome Outcome, known bool) {
	if provider == Tally {
		return governorOutcome(state)
	}
	return DAOStatusOutcome(daoStatus)
}

// governorOutcome translates the state of a Governor's proposal.
func governorOutcome(state string) (outcome Outcome, known bool) {
	switch state {
	case "succeeded", "queued":
		return Passed, true
	case "executed":
		return Executed, true
	case "defeated", "expired":
		return Failed, true
	case "canceled":
		return Canceled, true
	}
	return Unknown, false
}

// DAOStatusOutcome translates the status that Decentraland's DAO keeps next to
// Snapshot. Any status that is not empty is known, even where its outcome is Unknown.
func DAOStatusOutcome(status string) (outcome Outcome, known bool) {
	switch status {
	case "":
		return Unknown, false
	case "passed":
		return Passed, true
	case "enacted":
		return Executed, true
	case "rejected", "out_of_budget":
		return Failed, true
	case "deleted":
		return Canceled, true
	}
	return Unknown, true
}
