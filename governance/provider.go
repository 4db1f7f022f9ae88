package governance

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/shopspring/decimal"
)

// Provider is an upstream system. Only its methods, and provider_link.go, know what providers differ in.
type Provider string

// The upstream systems that Pnyx reads.
const (
	// Snapshot publishes off-chain votes of spaces.
	Snapshot Provider = "snapshot"
	// Tally publishes the on-chain votes of Governor contracts.
	Tally Provider = "tally"
	// Governor publishes the on-chain votes of Governor contracts: the chain itself.
	Governor Provider = "governor"
	// Discourse publishes forum topics, and no proposals.
	Discourse Provider = "discourse"
)

// Providers returns every upstream system.
func Providers() []Provider { return []Provider{Snapshot, Tally, Governor, Discourse} }

// ProposalProviders returns the upstream systems that publish proposals.
func ProposalProviders() []Provider { return slices.DeleteFunc(Providers(), Provider.IsForum) }

// Choice keys of a Governor.
const (
	GovernorFor     = "for"
	GovernorAgainst = "against"
	GovernorAbstain = "abstain"
)

// GovernorChoices returns the three choices of every Governor, in the order of their scores upstream.
func GovernorChoices() []Choice {
	return []Choice{
		{Key: GovernorFor, Label: "For"}, {Key: GovernorAgainst, Label: "Against"}, {Key: GovernorAbstain, Label: "Abstain"},
	}
}

// fieldDAOStatus is the field of an upstream proposal that holds the status that the DAO itself keeps.
const fieldDAOStatus = "source_status"

// IsForum reports whether the provider publishes topics instead of proposals.
func (p Provider) IsForum() bool { return p == Discourse }

// IsOnchain reports whether a proposal that passes is executed by a transaction.
func (p Provider) IsOnchain() bool { return p == Tally || p == Governor }

// AlwaysHasQuorum reports whether a quorum that is not published is unknown rather than absent.
func (p Provider) AlwaysHasQuorum() bool { return p.IsOnchain() }

// EstimatesTimes reports whether a time that is still to come is an estimate, from a number of blocks.
func (p Provider) EstimatesTimes() bool { return p == Governor }

// DecidesByMajority reports whether more power for than against decides a vote that reaches its quorum. On a
// Governor it does even where ballots are split.
func (p Provider) DecidesByMajority(v VoteType) bool {
	return p.IsOnchain() || v == SingleChoice || v == Basic
}

// HasEveryBallot reports whether a proposal is read with all of its ballots: none stored means that none was cast.
func (p Provider) HasEveryBallot() bool { return p == Governor }

// ChoiceKey returns the key of the choice at a position from 0: a name on Governors, else a number from 1.
func (p Provider) ChoiceKey(position int) string {
	if choices := GovernorChoices(); p.IsOnchain() && position < len(choices) {
		return choices[position].Key
	}
	return strconv.Itoa(position + 1)
}

// QuorumChoices returns the keys of the choices whose power counts towards the quorum,
// or nil where all power does. Proposals of some Governors have a rule of their own.
func (p Provider) QuorumChoices() []string {
	if p.IsOnchain() {
		return []string{GovernorFor, GovernorAbstain}
	}
	return nil
}

// QuorumPower returns the power that counts towards a quorum: the power of the choices with these keys, or total
// where there are none.
func QuorumPower(choices []string, total decimal.Decimal, powerOf func(choiceKey string) decimal.Decimal) decimal.Decimal {
	if len(choices) == 0 {
		return total
	}
	var counted decimal.Decimal
	for _, key := range choices {
		counted = counted.Add(powerOf(key))
	}
	return counted
}

// StateField names the field of an upstream proposal that holds its state.
func (p Provider) StateField() string {
	if p == Tally {
		return "status"
	}
	return "state"
}

// EndField names the field of an upstream proposal by which IsVoteOver holds.
func (p Provider) EndField(state string) string {
	if p.IsOnchain() || statesOfVotes()[state].over {
		return p.StateField()
	}
	return fieldDAOStatus
}

// OutcomeField names the field of an upstream proposal that StatedOutcome reads.
func (p Provider) OutcomeField() string {
	if p.IsOnchain() {
		return p.StateField()
	}
	return fieldDAOStatus
}

// StatedOutcome returns the outcome that upstream states: by its state on Governors, else by the DAO's own status.
func (p Provider) StatedOutcome(state, daoStatus string) (outcome Outcome, known bool) {
	if p.IsOnchain() {
		outcome = OutcomeOfState(state)
		return cmp.Or(outcome, Unknown), outcome != ""
	}
	return DAOStatusOutcome(daoStatus)
}

// IsVoteOver reports whether upstream states, by the state or the DAO's own status, that a vote has ended.
func IsVoteOver(state, daoStatus string) bool {
	if outcome, known := DAOStatusOutcome(daoStatus); known && outcome != Unknown {
		return true
	}
	return statesOfVotes()[state].over
}

// DAOStatusOutcome translates the status that Decentraland's DAO keeps next to
// Snapshot. Any status that is not empty is known, even where its outcome is Unknown.
func DAOStatusOutcome(status string) (outcome Outcome, known bool) {
	outcome = map[string]Outcome{
		"passed": Passed, "enacted": Executed, "rejected": Failed, "out_of_budget": Failed, "deleted": Canceled,
	}[status]
	return cmp.Or(outcome, Unknown), status != ""
}
