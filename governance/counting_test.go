package governance_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/check"
)

func TestProgressIsCutNotRounded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		counted, needed string
		want            governance.Decimal
		reached         bool
	}{
		{"0", "4", "0", false},
		{"1", "4", "0.25", false},
		{"2", "3", "0.666666", false},
		{"1", "3", "0.333333", false},
		{"999999999", "1000000000", "0.999999", false},
		{"3.999999999999999999", "4", "0.999999", false},
		{"4", "4", "1", true},
		{"4.000000000000000001", "4", "1", true},
		{"9", "4", "2.25", true},
		{"1", "1000001", "0", false},
		{"0.000000000000000001", "0.000000000000000003", "0.333333", false},
		{"1234567890123456789012345678901234567890", "1", "1234567890123456789012345678901234567890", true},
	} {
		got := governance.QuorumProgress(num(test.counted), num(test.needed))
		reached := governance.QuorumOfApproval.IsReached(num(test.counted), num(test.needed))
		if got != test.want || reached != test.reached {
			t.Errorf("%s of %s: got %s, reached %t, want %s, %t", test.counted, test.needed, got, reached, test.want, test.reached)
		}
	}
}

func TestSplitByWeightGivesTheRemainderToTheLargest(t *testing.T) {
	t.Parallel()
	third := "0." + strings.Repeat("3", governance.PowerScale)
	for _, test := range []struct {
		power   string
		weights []string
		want    []string
	}{
		{"10", []string{"1"}, []string{"10"}},
		{"10", []string{"1", "1"}, []string{"5", "5"}},
		{"10", []string{"1", "3"}, []string{"2.5", "7.5"}},
		{"10", []string{"0", "3", "0"}, []string{"0", "10", "0"}},
		{"0", []string{"1", "2"}, []string{"0", "0"}},
		{"1", []string{"1", "1", "1"}, []string{"0.333333333333333334", third, third}},
		{"1", []string{"1", "2"}, []string{third, "0.666666666666666667"}},
		{"1", []string{"2", "2", "2.0"}, []string{"0.333333333333333334", third, third}},
		{"0.000000000000000001", []string{"1", "1"}, []string{"0.000000000000000001", "0"}},
		{"0.000000000000000001", []string{"1", "2"}, []string{"0", "0.000000000000000001"}},
		{"7", []string{"0.5", "0.25", "0.25"}, []string{"3.5", "1.75", "1.75"}},
	} {
		got := governance.SplitByWeight(num(test.power), nums(test.weights...))
		check.WantSame(t, fmt.Sprintf("%s by %v", test.power, test.weights), nums(test.want...), got)
	}
}

func TestSplitByWeightSumsExactly(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		power := randomPower(random)
		weights := make([]decimal.Decimal, 1+random.IntN(8))
		for i := range weights {
			weights[i] = randomPower(random)
		}
		weights[random.IntN(len(weights))] = num("0.5") // not all are zero
		parts := governance.SplitByWeight(power, weights)
		if sum := decimal.Sum(parts[0], parts[1:]...); !sum.Equal(power) {
			t.Fatalf("%s by %v: parts sum to %s", power, weights, sum)
		}
		checkShares(t, power, weights, parts)
	}
}

// checkShares checks that parts are proportional to weights but for what is cut.
func checkShares(t *testing.T, power decimal.Decimal, weights, parts []decimal.Decimal) {
	t.Helper()
	whole := decimal.Sum(weights[0], weights[1:]...)
	for i, part := range parts {
		exact := new(big.Rat).Mul(power.Rat(), new(big.Rat).Quo(weights[i].Rat(), whole.Rat()))
		least := new(big.Rat).SetFrac64(-1, 1e18)
		most := new(big.Rat).SetFrac64(0, 1)
		if i == governance.LargestIndex(weights) {
			most.SetFrac64(int64(len(parts)), 1e18)
		}
		off := new(big.Rat).Sub(part.Rat(), exact)
		if off.Cmp(least) < 0 || off.Cmp(most) > 0 || part.Exponent() < -governance.PowerScale {
			t.Fatalf("%s by %v: part %d is %s", power, weights, i, part)
		}
	}
}

// randomPower is a number of any size that voting power may have, zero included.
func randomPower(random *rand.Rand) decimal.Decimal {
	return decimal.New(random.Int64N(math.MaxInt64), -random.Int32N(governance.PowerScale+1)).
		Mul(decimal.New(random.Int64N(3), 0)).Truncate(governance.PowerScale)
}

func TestLargestIsTheFirstOfEquals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		numbers []string
		want    int
	}{
		{nil, -1},
		{[]string{"0"}, 0},
		{[]string{"1", "2", "3"}, 2},
		{[]string{"1", "3.0", "3", "2"}, 1},
		{[]string{"-2", "-1"}, 1},
	} {
		check.Want(t, test.want, governance.LargestIndex(nums(test.numbers...)), test.numbers)
	}
}

func TestSquareRootIsTheLargestThatFits(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	atom := decimal.New(1, -governance.PowerScale)
	for range 1000 {
		number := randomPower(random)
		root := governance.SquareRoot(number)
		next := root.Add(atom)
		if root.Mul(root).GreaterThan(number) || next.Mul(next).LessThanOrEqual(number) {
			t.Fatalf("%s: got %s", number, root)
		}
	}
}

func TestQuadraticScoresSumToThePowerCast(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		power string
		roots []string
		want  []string
	}{
		{"nobody voted", "0", []string{"0", "0"}, []string{"0", "0"}},
		{"no choices", "0", nil, nil},
		{"one voter", "9", []string{"3", "0"}, []string{"9", "0"}},
		// Four voters of 1 outweigh one voter of 4: 16 parts to 4.
		{"many small beat one large", "8", []string{"4", "2"}, []string{"6.4", "1.6"}},
		{"thirds", "1", []string{"1", "1", "1"}, []string{"0.333333333333333334", "0.333333333333333333", "0.333333333333333333"}},
	} {
		check.WantSame(t, test.name, nums(test.want...), governance.QuadraticScores(num(test.power), nums(test.roots...)))
	}
}

// Snapshot's rule, in the floating point that Snapshot itself counts with.
func TestQuadraticScoresFollowSnapshotsRule(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		choices := 1 + random.IntN(6)
		var power decimal.Decimal
		rootSums := make([]decimal.Decimal, choices)
		floatSums := make([]float64, choices)
		var floatPower float64
		for range 1 + random.IntN(20) {
			ballot := decimal.New(1+random.Int64N(1e12), -random.Int32N(12))
			weights := make([]decimal.Decimal, choices)
			for i := range weights {
				weights[i] = decimal.NewFromInt(1 + random.Int64N(100))
			}
			whole := decimal.Sum(weights[0], weights[1:]...)
			for i, part := range governance.SplitByWeight(ballot, weights) {
				rootSums[i] = rootSums[i].Add(governance.SquareRoot(part))
				floatSums[i] += math.Sqrt(weights[i].InexactFloat64() / whole.InexactFloat64() * ballot.InexactFloat64())
			}
			power = power.Add(ballot)
			floatPower += ballot.InexactFloat64()
		}
		var squares float64
		for _, sum := range floatSums {
			squares += sum * sum
		}
		got := governance.QuadraticScores(power, rootSums)
		if sum := decimal.Sum(got[0], got[1:]...); !sum.Equal(power) {
			t.Fatalf("scores %v sum to %s, want %s", got, sum, power)
		}
		for i, score := range got {
			want := floatSums[i] * floatSums[i] / squares * floatPower
			if off := math.Abs(score.InexactFloat64() - want); off > 1e-9*floatPower {
				t.Fatalf("choice %d of %v: got %s, want about %g", i, floatSums, score, want)
			}
		}
	}
}
