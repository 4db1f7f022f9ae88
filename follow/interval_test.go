package follow_test

import (
	"math"
	"slices"
	"testing"

	"pnyx/follow"
	"pnyx/test/env"
	"pnyx/warehouse/records"
)

type interval = records.Interval

func TestIntervalsReachTheLargestNumber(t *testing.T) {
	t.Parallel()
	all := []interval{{First: 0, Last: math.MaxUint64}}
	env.WantSame(t, "covered", all, follow.Cover(all, interval{First: 5, Last: 6}))
	holes := follow.Holes([]interval{{First: 5, Last: math.MaxUint64}}, interval{First: 1, Last: math.MaxUint64})
	env.WantSame(t, "holes", []interval{{First: 1, Last: 4}}, holes)
}

// FuzzIntervals compares what is covered, and the holes of the whole between the first two numbers, with a
// set of numbers.
func FuzzIntervals(f *testing.F) {
	for _, seed := range [][]byte{
		{0, 255},
		{0, 255, 5, 9},
		{0, 20, 5, 9, 11, 12},
		{0, 20, 5, 9, 1, 3},
		{0, 255, 5, 9, 10, 12, 1, 4},
		{0, 20, 5, 9, 6, 7},
		{0, 20, 1, 3, 7, 9, 3, 8},
		{0, 255, 0, 0, 0, 1, 1, 2},
		{1, 9, 0, 20},
		{1, 9, 1, 3, 6, 9},
		{1, 9, 3, 4},
		{1, 9, 20, 30},
		{1, 9, 0, 2, 8, 12},
		{0, 255, 250, 255, 0, 3},
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ends []byte) {
		var pairs []interval
		for pair := range slices.Chunk(ends, 2) {
			if len(pair) == 2 {
				pairs = append(pairs, interval{First: uint64(min(pair[0], pair[1])), Last: uint64(max(pair[0], pair[1]))})
			}
		}
		if len(pairs) == 0 {
			return
		}
		var covered []interval
		var set, missing [256]bool
		for _, added := range pairs[1:] {
			covered = follow.Cover(covered, added)
			for n := added.First; n <= added.Last; n++ {
				set[n] = true
			}
		}
		for _, hole := range follow.Holes(covered, pairs[0]) {
			for n := hole.First; n <= hole.Last; n++ {
				missing[n] = true
			}
		}
		for n := range set {
			within := uint64(n) >= pairs[0].First && uint64(n) <= pairs[0].Last
			if missing[n] != (within && !set[n]) {
				t.Fatalf("%d of %v: covered %t, in a hole %t; %v", n, pairs[0], set[n], missing[n], covered)
			}
		}
		for i := 1; i < len(covered); i++ {
			if covered[i].First <= covered[i-1].Last+1 {
				t.Fatalf("%v touches the next", covered[i-1])
			}
		}
		if together := follow.Cover(nil, pairs[1:]...); !slices.Equal(covered, together) {
			t.Fatalf("one by one: %v, together: %v", covered, together)
		}
	})
}
