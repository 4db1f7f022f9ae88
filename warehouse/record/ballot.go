package record

import (
	"errors"
	"fmt"

	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// Ballot is one cast of one voter; recasts are ballots of their own.
type Ballot struct {
	Proposal ProposalRef
	VoteID   string
	// Voter is the voter's identity, normalized.
	Voter string
	Power decimal.Decimal
	// PowerRounded says that upstream stated more than PowerScale decimal places.
	PowerRounded bool

	// Choices holds the keys of the choices it supports: the one, or all that it
	// approves, or those it ranks in order of preference, or those it gives weight
	// to in order of position. An empty ballot supports none.
	Choices []string
	// Shares are the parts of Power that go to Choices, and Roots the square roots of
	// the unrounded parts; both are set for weighted ballots only.
	Shares []decimal.Decimal
	Roots  []decimal.Decimal
	// ChoiceKey is the first preference or largest weight; empty for none.
	ChoiceKey string
	// RawChoice is the choice as published, compact JSON.
	RawChoice string

	// VotedAt is nil where no time is known; with VotedDayOnly it is midnight UTC
	// of the day.
	VotedAt      *governance.Timestamp
	VotedDayOnly bool
	TxHash       string
	Reason       string
}

// ErrNegativeWeight is what a choice with a weight below zero is refused with.
var ErrNegativeWeight = errors.New("negative weight")

// SetWeights fills in a weighted ballot: Choices, Shares, Roots and ChoiceKey
// from choice keys in order of position and their weights. Zero weights support
// nothing and are left out. Power must be set before.
func (b *Ballot) SetWeights(keys []string, weights []decimal.Decimal) error {
	var supported []decimal.Decimal
	for i, weight := range weights {
		if weight.IsNegative() {
			return fmt.Errorf("%w %s for choice %s", ErrNegativeWeight, weight, keys[i])
		}
		if weight.IsPositive() {
			b.Choices = append(b.Choices, keys[i])
			supported = append(supported, weight)
		}
	}
	if len(supported) == 0 {
		return nil
	}
	b.ChoiceKey = b.Choices[governance.LargestIndex(supported)]
	b.Shares = governance.SplitByWeight(b.Power, supported)
	whole := decimal.Sum(decimal.Zero, supported...)
	b.Roots = make([]decimal.Decimal, len(supported))
	for i, weight := range supported {
		part, _ := b.Power.Mul(weight).QuoRem(whole, 2*governance.PowerScale)
		b.Roots[i] = governance.SquareRoot(part)
	}
	return nil
}

// Kind returns KindBallot.
func (*Ballot) Kind() Kind { return KindBallot }

// Key returns the proposal, the voter and the id of the cast.
func (b *Ballot) Key() []string {
	hash := b.Proposal.Hash()
	return []string{string(hash[:]), b.Voter, b.VoteID}
}
