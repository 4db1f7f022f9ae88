package demo

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// What is drawn about something goes into the key, so that no two draws share
// their chance and one can change without the others.
const (
	forPlan uint64 = iota
	forName
	forKind
	forDAO
	forProposal
	forResult
	forPoll
	forBallots
	forRecasts
	forHoldings
	forTopic
	forChat
	forVoter
	forSeat
)

// dice draws everything that looks like chance. What it draws after being seeded
// depends on the seed alone, and on integers only: no machine rounds them
// differently, so the same options give the same files everywhere.
type dice struct {
	*rand.Rand
	source *rand.PCG
}

func newDice() dice {
	source := rand.NewPCG(0, 0)
	//nolint:gosec // repeatable on purpose, nothing here is secret
	return dice{Rand: rand.New(source), source: source}
}

// seed makes the draws that follow a function of key and, where there are several
// of a kind, its number.
func (d dice) seed(key uint64, number ...int) {
	for _, n := range number {
		key = keyOf(key, natural(n))
	}
	d.source.Seed(key, mix(key))
}

// roll says yes once in so many times.
func (d dice) roll(once int) bool {
	return d.IntN(once) == 0
}

// between draws from low to high, both included.
func (d dice) between(low, high int) int {
	return low + d.IntN(high-low+1)
}

// heavy draws from a distribution with a heavy tail: half of the draws are 1 or
// 2, and each further factor of three is half as likely, up to 3^steps.
func (d dice) heavy(steps int) int {
	size := 1
	for range min(bits.TrailingZeros64(d.Uint64()), steps) {
		size *= 3
	}
	return size + d.IntN(size+1)
}

// pick draws one of several.
func pick[T any](d dice, from []T) T {
	return from[d.IntN(len(from))]
}

// some draws n of several without repeating one, in their order.
func some[T any](d dice, n int, from []T) []T {
	n = min(n, len(from))
	drawn := make([]T, 0, n)
	for i, item := range from {
		left := len(from) - i
		if d.IntN(left) < n-len(drawn) {
			drawn = append(drawn, item)
		}
	}
	return drawn
}

// mix scrambles n (the finalizer of SplitMix64): numbers that differ by one come
// out unrelated.
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// keyOf derives a key from another one and what it is for.
func keyOf(key uint64, parts ...uint64) uint64 {
	for _, part := range parts {
		key = mix(key ^ mix(part))
	}
	return key
}

// portion returns n × part ÷ whole, cut. None of the three is negative, and part
// is at most whole.
func portion(n, part, whole int) int {
	return int(min(mulDiv(natural(n), natural(part), natural(whole)), math.MaxInt))
}

// natural returns a number that is known not to be negative without a sign.
func natural[N int | int64](n N) uint64 {
	return uint64(max(n, 0))
}

// mulDiv returns a × b ÷ c, cut, without overflowing in between. The result has
// to fit, which it does where b ≤ c.
func mulDiv(a, b, c uint64) uint64 {
	high, low := bits.Mul64(a, b)
	quotient, _ := bits.Div64(high, low, c)
	return quotient
}
