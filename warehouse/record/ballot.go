package record

import (
	"encoding/json"

	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// Ballot is one vote by one voter. A recast is a separate ballot.
type Ballot struct {
	Proposal ProposalRef
	VoteID   string
	Voter    string // normalized
	// Power is the voting power, exact to governance.PowerScale decimal places.
	Power decimal.Decimal
	// PowerRounded is true if upstream stated more decimal places than that.
	PowerRounded bool
	// Choices has the keys of the choices that the ballot supports: ranked ones in order of preference, weighted
	// ones in order of position. An empty ballot has none.
	Choices []string
	// Shares are the parts of Power for each of Choices; nil unless the ballot is weighted.
	Shares []decimal.Decimal
	// Roots are the square roots of the unrounded parts; nil unless the ballot is weighted.
	Roots []decimal.Decimal
	// ChoiceKey is the choice of first preference or largest weight; empty if there is none.
	ChoiceKey string
	// RawChoice is the published choice as compact JSON.
	RawChoice string
	VotedAt   *governance.Timestamp // nil if upstream states none
	// VotedDayOnly is true if only the day is known. VotedAt is then midnight UTC.
	VotedDayOnly bool
	TxHash       string // of an on-chain vote; empty for others
	Reason       string
	Withdrawn    bool `msgpack:",omitempty"`
}

// SetWeights sets Choices, Shares, Roots and ChoiceKey of a weighted ballot from choice keys in order of position
// and their weights. It skips weights of zero. No weight may be negative, and Power must be set before.
func (b *Ballot) SetWeights(keys []string, weights []decimal.Decimal) {
	var supported []decimal.Decimal
	for i, weight := range weights {
		if weight.IsPositive() {
			b.Choices = append(b.Choices, keys[i])
			supported = append(supported, weight)
		}
	}
	if len(supported) == 0 {
		return
	}
	b.ChoiceKey = b.Choices[governance.LargestIndex(supported)]
	b.Shares = governance.SplitByWeight(b.Power, supported)
	whole := decimal.Sum(decimal.Zero, supported...)
	b.Roots = make([]decimal.Decimal, len(supported))
	for i, weight := range supported {
		part, _ := b.Power.Mul(weight).QuoRem(whole, 2*governance.PowerScale)
		b.Roots[i] = governance.SquareRoot(part)
	}
}

// Unreadable is the key of what an unreadable ballot supports: none of a proposal's choices.
const Unreadable = "unreadable"

// SetUnreadable marks a ballot whose choice and power cannot be read. What upstream states is the raw choice.
func (b *Ballot) SetUnreadable(what string, stated map[string]string) {
	text, _ := json.Marshal(map[string]map[string]string{what: stated}) // texts are always encoded
	b.Choices, b.ChoiceKey, b.RawChoice = []string{Unreadable}, Unreadable, string(text)
}

// Kind implements Record.
func (*Ballot) Kind() Kind { return KindBallot }

// Key returns the proposal's hash, the voter and the id of the vote.
func (b *Ballot) Key() Key { return Key{b.Proposal.Hash().text(), b.Voter, b.VoteID} }
