package rules

import (
	"fmt"

	"github.com/shopspring/decimal"

	"pnyx/governance"
)

const (
	// FirstDelegates is how many delegates of a token, by power, the rules follow.
	FirstDelegates = 10
	// movedPercent is the part of the supply, in percent, above which a change of power is reported.
	movedPercent = 1
)

// DelegateChange is what happened to one of the first delegates of a token.
type DelegateChange string

// The changes.
const (
	DelegateEntered DelegateChange = "entered"
	DelegateLeft    DelegateChange = "left"
	DelegateShifted DelegateChange = "moved"
)

// DelegateMove is a change of the first delegates of a token in one block.
type DelegateMove struct {
	// Delegate is the delegate, and Token the token, eip155:<chain>:<address>.
	Delegate, Token string
	// Block is the block's number, and At its time.
	Block  uint64
	At     governance.Timestamp
	Change DelegateChange
	// Before and After are the delegate's power before and after the block, in whole tokens.
	Before, After decimal.Decimal
	// Supply is the token's supply as of the block; nil where it is not known.
	Supply *decimal.Decimal
}

// DelegateMoveOf says what a block changed for a delegate; false for nothing that is reported.
func DelegateMoveOf(m DelegateMove, wasFirst, isFirst bool) (DelegateMove, bool) {
	switch {
	case !wasFirst:
		m.Change = DelegateEntered
	case !isFirst:
		m.Change = DelegateLeft
	default:
		m.Change = DelegateShifted
		return m, m.Supply != nil && m.difference().Shift(2).GreaterThan(m.Supply.Mul(decimal.NewFromInt(movedPercent)))
	}
	return m, true
}

func (m DelegateMove) difference() decimal.Decimal { return m.After.Sub(m.Before).Abs() }

// Title tells the move in one line with every figure.
func (m DelegateMove) Title() string {
	text := fmt.Sprintf("%s: %s before, %s after", m.headline(), governance.DecimalOf(m.Before), governance.DecimalOf(m.After))
	if m.Supply != nil {
		text += fmt.Sprintf(", %s of the supply", governance.QuorumProgress(m.After, *m.Supply))
	}
	return text + " (" + m.Token + ")"
}

func (m DelegateMove) headline() string {
	what := map[DelegateChange]string{
		DelegateEntered: "entered the first ten", DelegateLeft: "left the first ten", DelegateShifted: "moved by over 1 % of the supply",
	}
	return delegateText(m.Delegate) + " " + what[m.Change]
}

func delegateText(delegate string) string { return "Delegate " + oneLine(delegate, maxLabelRunes) }

func detectDelegateMove(m DelegateMove) (RuleHit, bool) {
	hit := RuleHit{
		DetectedAt: m.At, Score: 35, Title: m.headline(),
		Summary: fmt.Sprintf("Its power was %s before the block and is %s after it.", amountText(m.Before), amountText(m.After)),
		Evidence: map[string]string{
			"delegate": m.Delegate, "token": m.Token, "block": string(governance.CountOf(m.Block)), "change": string(m.Change),
			"powerBefore": string(governance.DecimalOf(m.Before)), "powerAfter": string(governance.DecimalOf(m.After)),
		},
	}
	if m.Supply != nil {
		hit.Evidence["supply"] = string(governance.DecimalOf(*m.Supply))
		hit.Evidence["shareOfSupply"] = string(governance.QuorumProgress(m.After, *m.Supply))
		moved := decimal.Min(percentOf(m.difference(), *m.Supply), decimal.NewFromInt(100))
		hit.Score = min(80, hit.Score+3*int(moved.IntPart()))
	}
	return hit, true
}
