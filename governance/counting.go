package governance

import (
	"math/big"
	"strings"

	"github.com/shopspring/decimal"
)

// atomsPerUnit is 10^PowerScale: voting power as an integer of smallest parts.
var atomsPerUnit = new(big.Int).Exp(big.NewInt(10), big.NewInt(PowerScale), nil) //nolint:gochecknoglobals // a constant that Go cannot write as one

// QuorumType says what a quorum is needed for.
type QuorumType string

// The types of a quorum.
const (
	// QuorumOfApproval is what has to take part, so that a vote is valid.
	QuorumOfApproval QuorumType = "approval"
	// QuorumOfRejection is what the second choice has to exceed, so that a proposal is rejected.
	QuorumOfRejection QuorumType = "rejection"
)

// QuorumProgress returns counted ÷ needed, cut (not rounded) at six decimal places. needed is above zero.
func QuorumProgress(counted, needed decimal.Decimal) Decimal {
	const progressPlaces = 6 // the number of decimal places of QuorumProgress
	quotient, _ := counted.QuoRem(needed, progressPlaces)
	return DecimalOf(quotient)
}

// IsReached reports whether the counted power reaches a quorum: as much for approval, more for rejection.
func (t QuorumType) IsReached(counted, needed decimal.Decimal) bool {
	return counted.GreaterThanOrEqual(t.Least(needed))
}

// Least returns the least voting power that reaches a quorum.
func (t QuorumType) Least(needed decimal.Decimal) decimal.Decimal {
	if t == QuorumOfRejection {
		return needed.Add(decimal.New(1, -PowerScale))
	}
	return needed
}

// SplitByWeight divides power in proportion to weights, each part cut at PowerScale places and the
// remainder given to the largest weight (the first of equals), so that the parts sum to power
// exactly. Weights must not be negative and not all be zero.
func SplitByWeight(power decimal.Decimal, weights []decimal.Decimal) []decimal.Decimal {
	whole := decimal.Sum(decimal.Zero, weights...)
	parts := make([]decimal.Decimal, len(weights))
	rest := power
	for i, weight := range weights {
		parts[i], _ = power.Mul(weight).QuoRem(whole, PowerScale)
		rest = rest.Sub(parts[i])
	}
	largest := LargestIndex(weights)
	parts[largest] = parts[largest].Add(rest)
	return parts
}

// LargestIndex returns the index of the largest number, the first of equals, and -1 for none.
func LargestIndex(numbers []decimal.Decimal) int {
	largest := -1
	for i, number := range numbers {
		if largest < 0 || number.GreaterThan(numbers[largest]) {
			largest = i
		}
	}
	return largest
}

// SquareRoot returns the square root of a number that is not negative, cut at PowerScale places.
func SquareRoot(number decimal.Decimal) decimal.Decimal {
	atoms := number.Shift(PowerScale).Truncate(0).BigInt()
	root := new(big.Int).Sqrt(atoms.Mul(atoms, atomsPerUnit))
	return decimal.NewFromBigInt(root, -PowerScale)
}

// QuadraticScores returns the scores of quadratic voting, as Snapshot computes them. Each
// of rootSums is the sum of the square roots of what ballots gave to a choice; the sums are
// squared, and power is divided in proportion to the squares.
func QuadraticScores(power decimal.Decimal, rootSums []decimal.Decimal) []decimal.Decimal {
	squares := make([]decimal.Decimal, len(rootSums))
	for i, sum := range rootSums {
		squares[i] = sum.Mul(sum)
	}
	if decimal.Sum(decimal.Zero, squares...).IsZero() {
		return squares
	}
	return SplitByWeight(power, squares)
}

// CompareChoiceKeys orders choice keys as proposals list them: "2" before "10", words alphabetically.
func CompareChoiceKeys(a, b string) int {
	if len(a) != len(b) && isDigits(a) && isDigits(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// ChoiceBounds says how many choices a valid ballot names. Each exists, and none is named twice.
type ChoiceBounds struct {
	// Least and Most are the bounds of the number. Most is 0, no bound, where upstream does not state the choices.
	Least int `json:"least" msgpack:"least"`
	Most  int `json:"most" msgpack:"most"`
	// Form is how a ballot states its choices; empty for any.
	Form ChoiceForm `json:"form" msgpack:"form"`
}

// ChoiceForm is how a ballot states its choices.
type ChoiceForm string

// The forms.
const (
	NumberForm  ChoiceForm = "number"
	ListForm    ChoiceForm = "list"
	WeightsForm ChoiceForm = "weights"
)

// FormOf returns the form of a choice in JSON; empty for one that names its choices otherwise.
func FormOf(raw string) ChoiceForm {
	switch {
	case raw == "", raw[0] == '"':
		return ""
	case raw[0] == '[':
		return ListForm
	case raw[0] == '{':
		return WeightsForm
	}
	return NumberForm
}

// ChoiceBounds returns the bounds of a vote with a number of stated choices. On Snapshot, a ballot for
// one choice names one, and a ranking names all; on a Governor every ballot is valid.
func (p Provider) ChoiceBounds(v VoteType, choices int) ChoiceBounds {
	b := ChoiceBounds{Most: choices}
	if p != Snapshot {
		return b
	}
	switch v {
	case SingleChoice, Basic:
		b.Most, b.Form = 1, NumberForm
	case RankedChoice, Copeland:
		b.Least, b.Form = choices, ListForm
	case Approval:
		b.Form = ListForm
	case Weighted, Quadratic:
		b.Form = WeightsForm
	}
	return b
}

// Allow reports whether a ballot that names some choices in some form is valid.
func (b ChoiceBounds) Allow(choices int, form ChoiceForm) bool {
	return choices >= b.Least && (b.Most == 0 || choices <= b.Most) && (form == "" || b.Form == "" || form == b.Form)
}
