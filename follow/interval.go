package follow

import (
	"cmp"
	"slices"

	"pnyx/warehouse/records"
)

// Cover returns the ranges of covered and the added ones, ordered, and joined where they touch.
func Cover(covered []records.Interval, added ...records.Interval) []records.Interval {
	all := append(slices.Clone(covered), added...)
	slices.SortFunc(all, func(a, b records.Interval) int { return cmp.Compare(a.First, b.First) })
	joined := []records.Interval{}
	for _, next := range all {
		if n := len(joined); n > 0 && (next.First == 0 || next.First-1 <= joined[n-1].Last) {
			joined[n-1].Last = max(joined[n-1].Last, next.Last)
		} else {
			joined = append(joined, next)
		}
	}
	return joined
}

// Holes returns the ranges of whole that covered, as Cover returns it, leaves out, in order.
func Holes(covered []records.Interval, whole records.Interval) (holes []records.Interval) {
	next := whole.First
	for _, c := range covered {
		if c.Last < next {
			continue
		}
		if c.First > whole.Last {
			break
		}
		if c.First > next {
			holes = append(holes, records.Interval{First: next, Last: c.First - 1})
		}
		if c.Last >= whole.Last {
			return holes
		}
		next = c.Last + 1
	}
	return append(holes, records.Interval{First: next, Last: whole.Last})
}
