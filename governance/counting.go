package governance

import (
	"math/big"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

// progressPlaces is the number of decimal places of QuorumProgress.
const progressPlaces = 6

// atomsPerUnit is 10^PowerScale: voting power as an integer of smallest parts.
//
//nolint:gochecknoglobals // a constant that Go cannot write as one
var atomsPerUnit = new(big.Int).Exp(big.NewInt(10), big.NewInt(PowerScale), nil)

// QuorumProgress returns counted ÷ needed, cut (not rounded) at six decimal places, and
// whether counted reaches needed. A quorum of zero is always reached.
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

// Ranking is a group of ballots that rank the same choices in the same order.
type Ranking struct {
	// Choices holds choice keys, the first preference first, none twice.
	Choices []string
	// Votes is the number of ballots, Power the sum of their power.
	Votes uint64
	Power decimal.Decimal
}

// Score is the result of one choice.
type Score struct {
	// Votes is the number of ballots that support the choice.
	Votes uint64
	// Power is the voting power that they give it.
	Power decimal.Decimal
}

// InstantRunoff counts ranked ballots by instant-runoff voting as Snapshot does, and
// returns the scores of the last round by choice key. Each round eliminates the choice
// with the least power (of equals, the first by compare), until one choice has more than
// half of the power still counting, or only two choices remain. A choice that any ballot
// still ranks takes part in a round even without first preferences; a ballot whose choices
// are all eliminated stops counting.
func InstantRunoff(ballots []Ranking, compare func(a, b string) int) map[string]Score {
	eliminated := map[string]bool{}
	for {
		round, total := countRound(ballots, eliminated)
		if len(round) < 3 || hasMajority(round, total) {
			return round
		}
		eliminated[weakest(round, compare)] = true
	}
}

// countRound gives each ballot to its first choice that is not eliminated.
func countRound(
	ballots []Ranking, eliminated map[string]bool,
) (round map[string]Score, total decimal.Decimal) {
	round = map[string]Score{}
	for _, ballot := range ballots {
		counted := false
		for _, choice := range ballot.Choices {
			if eliminated[choice] {
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
