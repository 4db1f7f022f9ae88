package demo

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// Random streams. Each purpose derives its keys from a stream of its own, so that
// one kind of draw can change without changing the others.
const (
	streamPlan uint64 = iota
	streamName
	streamCode
	streamDAO
	streamProposal
	streamResult
	streamVoting
	streamBallots
	streamRecasts
	streamPower
	streamTopic
	streamUnrelatedTopic
	streamVoter
	streamSharedRank
	streamContract
)

// random is a deterministic random generator. What it draws after seed depends on
// the key alone and uses integers only, so every machine generates the same files.
type random struct {
	*rand.Rand
	source *rand.PCG
}

// newRandom returns a generator that must be seeded before its first use.
func newRandom() random {
	source := rand.NewPCG(0, 0)
	//nolint:gosec // repeatable on purpose, nothing here is secret
	return random{Rand: rand.New(source), source: source}
}

// seed restarts the generator from a key and, if given, the numbers of an item.
func (rng random) seed(key uint64, number ...int) {
	for _, n := range number {
		key = deriveKey(key, unsigned(n))
	}
	rng.source.Seed(key, mix(key))
}

// oneIn returns true with probability 1/n.
func (rng random) oneIn(n int) bool {
	return rng.IntN(n) == 0
}

// between draws an integer from low to high, both included.
func (rng random) between(low, high int) int {
	return low + rng.IntN(high-low+1)
}

// heavyTailed draws from a heavy-tailed distribution: half of the draws are 1 or 2,
// and each further factor of three, up to 3^steps, is half as likely.
func (rng random) heavyTailed(steps int) int {
	size := 1
	for range min(bits.TrailingZeros64(rng.Uint64()), steps) {
		size *= 3
	}
	return size + rng.IntN(size+1)
}

func pick[T any](rng random, from []T) T {
	return from[rng.IntN(len(from))]
}

// sample draws n different elements and keeps their order. It returns all of them
// if there are fewer than n.
func sample[T any](rng random, n int, from []T) []T {
	n = min(n, len(from))
	drawn := make([]T, 0, n)
	for i, item := range from {
		left := len(from) - i
		if rng.IntN(left) < n-len(drawn) {
			drawn = append(drawn, item)
		}
	}
	return drawn
}

// mix is the finalizer of SplitMix64: it maps consecutive numbers to unrelated ones.
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// deriveKey derives a key from another key, a stream and item numbers.
func deriveKey(key uint64, parts ...uint64) uint64 {
	for _, part := range parts {
		key = mix(key ^ mix(part))
	}
	return key
}

// proportion returns n × part ÷ whole, rounded down. No argument may be negative,
// and part must not exceed whole.
func proportion(n, part, whole int) int {
	return int(min(mulDiv(unsigned(n), unsigned(part), unsigned(whole)), math.MaxInt))
}

// unsigned converts a number that is not negative.
func unsigned[N int | int64](n N) uint64 {
	return uint64(max(n, 0))
}

// mulDiv returns a × b ÷ c, rounded down, with a 128-bit product. The result must
// fit in 64 bits, which b ≤ c ensures.
func mulDiv(a, b, c uint64) uint64 {
	high, low := bits.Mul64(a, b)
	quotient, _ := bits.Div64(high, low, c)
	return quotient
}
