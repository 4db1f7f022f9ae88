package governance

import (
	"math/big"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

// progressPlaces is where QuorumProgress is cut.
const progressPlaces = 6

// atomsPerUnit is 10^PowerScale: voting power as an integer of smallest parts.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var atomsPerUnit = new(big.Int).Exp(big.NewInt(10), big.NewInt(PowerScale), nil)

// QuorumProgress returns counted ÷ needed, cut (not rounded) at six decimal places,
// and whether counted reaches needed. A quorum of zero is always reached.
func QuorumProgress(counted, needed decimal.Decimal) (Decimal, bool) {
	if needed.IsZero() {
		return "1", true
	}
	quotient, _ := counted.QuoRem(needed, progressPlaces)
	return DecimalOf(quotient), counted.GreaterThanOrEqual(needed)
}

// SplitByWeight divides power in proportion to weights, each part cut at
// PowerScale places and the remainder given to the largest weight (the first of
// equals), so that the parts sum to power exactly. Weights must not be negative
// and not all be zero.
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

// LargestIndex returns the index of the largest number, the first of equals, and -1
// for none.
func LargestIndex(numbers []decimal.Decimal) int {
	largest := -1
	for i, number := range numbers {
		if largest < 0 || number.GreaterThan(numbers[largest]) {
			largest = i
		}
	}
	return largest
}

// SquareRoot returns the square root of a number that is not negative, cut at
// PowerScale places.
func SquareRoot(number decimal.Decimal) decimal.Decimal {
	atoms := number.Shift(PowerScale).Truncate(0).BigInt()
	root := new(big.Int).Sqrt(atoms.Mul(atoms, atomsPerUnit))
	return decimal.NewFromBigInt(root, -PowerScale)
}

// QuadraticScores turns the sums of the square roots of what each ballot gave to
// each choice into scores, as Snapshot does: each sum is squared, and the power
// that was cast is divided in proportion to the squares.
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

// Ranking is a group of ballots that rank the same choices in the same order.
type Ranking struct {
	// Choices holds choice keys, the first preference first, none twice.
	Choices []string
	Votes   uint64
	Power   decimal.Decimal
}

// Score is what a choice received.
type Score struct {
	Votes uint64
	Power decimal.Decimal
}

// InstantRunoff counts ranked ballots by instant run-off as Snapshot does, and returns
// the scores of the last round by choice key. Round by round the choice with the
// least power (of equals, the one that compare orders first) is struck out, until one
// choice holds more than half of the power still counting, or only two choices
// are left. A choice that some ballot still ranks stands in the round even with
// no first preferences; ballots whose choices are all struck out stop counting.
func InstantRunoff(ballots []Ranking, compare func(a, b string) int) map[string]Score {
	struck := map[string]bool{}
	for {
		round, total := countRound(ballots, struck)
		if len(round) < 3 || hasMajority(round, total) {
			return round
		}
		struck[weakest(round, compare)] = true
	}
}

// countRound gives each ballot to its first choice that is not struck out.
func countRound(ballots []Ranking, struck map[string]bool) (round map[string]Score, total decimal.Decimal) {
	round = map[string]Score{}
	for _, ballot := range ballots {
		counted := false
		for _, choice := range ballot.Choices {
			if struck[choice] {
				continue
			}
			score := round[choice]
			if !counted {
				counted = true
				score.Votes += ballot.Votes
				score.Power = score.Power.Add(ballot.Power)
				total = total.Add(ballot.Power)
			}
			round[choice] = score
		}
	}
	return round, total
}

func hasMajority(round map[string]Score, total decimal.Decimal) bool {
	for _, score := range round {
		if score.Power.Add(score.Power).GreaterThan(total) {
			return true
		}
	}
	return false
}

func weakest(round map[string]Score, compare func(a, b string) int) string {
	var least string
	found := false
	for choice, score := range round {
		order := score.Power.Cmp(round[least].Power)
		if !found || order < 0 || order == 0 && compare(choice, least) < 0 {
			least, found = choice, true
		}
	}
	return least
}

// CompareChoiceKeys orders choice keys as proposals list them: positions by
// number ("2" before "10"), words alphabetically.
func CompareChoiceKeys(a, b string) int {
	if len(a) != len(b) && isDigits(a) && isDigits(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func isDigits(text string) bool {
	return text != "" && !slices.ContainsFunc([]byte(text), func(c byte) bool { return c < '0' || c > '9' })
}
