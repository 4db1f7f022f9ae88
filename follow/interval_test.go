package follow_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/follow"
	"pnyx/warehouse/records"
)

type interval = records.Interval

// ranges returns the ranges with the given ends.
func ranges(ends ...uint64) (all []interval) {
	for pair := range slices.Chunk(ends, 2) {
		all = append(all, interval{First: pair[0], Last: pair[1]})
	}
	return all
}

func TestCoverJoinsWhatTouches(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ covered, added, want []interval }{
		"the first":      {nil, ranges(5, 9), ranges(5, 9)},
		"nothing":        {ranges(5, 9), nil, ranges(5, 9)},
		"apart":          {ranges(5, 9), ranges(11, 12), ranges(5, 9, 11, 12)},
		"below":          {ranges(5, 9), ranges(1, 3), ranges(1, 3, 5, 9)},
		"touching":       {ranges(5, 9), ranges(10, 12, 1, 4), ranges(1, 12)},
		"inside":         {ranges(5, 9), ranges(6, 7), ranges(5, 9)},
		"across a hole":  {ranges(1, 3, 7, 9), ranges(3, 8), ranges(1, 9)},
		"from zero":      {ranges(0, 0), ranges(0, 1, 1, 2), ranges(0, 2)},
		"to the largest": {ranges(0, math.MaxUint64), ranges(5, 6), ranges(0, math.MaxUint64)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, follow.Cover(test.covered, test.added...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHolesAreWhatIsLeftOut(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		covered []interval
		whole   interval
		want    []interval
	}{
		"all of it":        {nil, interval{First: 1, Last: 9}, ranges(1, 9)},
		"nothing":          {ranges(0, 20), interval{First: 1, Last: 9}, nil},
		"in the middle":    {ranges(1, 3, 6, 9), interval{First: 1, Last: 9}, ranges(4, 5)},
		"at both ends":     {ranges(3, 4), interval{First: 1, Last: 9}, ranges(1, 2, 5, 9)},
		"elsewhere":        {ranges(20, 30), interval{First: 1, Last: 9}, ranges(1, 9)},
		"up to the last":   {ranges(5, math.MaxUint64), interval{First: 1, Last: math.MaxUint64}, ranges(1, 4)},
		"overlapping ends": {ranges(0, 2, 8, 12), interval{First: 1, Last: 9}, ranges(3, 7)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, follow.Holes(test.covered, test.whole)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzIntervals compares with a set of numbers.
func FuzzIntervals(f *testing.F) {
	f.Add([]byte{1, 3, 7, 9, 3, 8})
	f.Fuzz(func(t *testing.T, ends []byte) {
		var covered []interval
		var set [256]bool
		for pair := range slices.Chunk(ends, 2) {
			if len(pair) < 2 {
				break
			}
			added := interval{First: uint64(min(pair[0], pair[1])), Last: uint64(max(pair[0], pair[1]))}
			covered = follow.Cover(covered, added)
			for n := added.First; n <= added.Last; n++ {
				set[n] = true
			}
		}
		var missing [256]bool
		for _, hole := range follow.Holes(covered, interval{First: 0, Last: 255}) {
			for n := hole.First; n <= hole.Last; n++ {
				missing[n] = true
			}
		}
		for n := range set {
			if set[n] == missing[n] {
				t.Fatalf("%d: covered %t, in a hole %t; %v", n, set[n], missing[n], covered)
			}
		}
		for i := 1; i < len(covered); i++ {
			if covered[i].First <= covered[i-1].Last+1 {
				t.Fatalf("%v touches the next", covered[i-1])
			}
		}
	})
}
