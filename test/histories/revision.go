package histories

import (
	"cmp"
	"fmt"
	"slices"
)

// checkRevisions checks that a node that has shown a state of a path shows no earlier one to later requests,
// unless a fault brought it back in Redis. A clock that is set back takes the time of a state back, but no
// ballots. Only pairs matter of which one operation returned before the other was called.
func checkRevisions(h History, _ Setting) (problems []string) {
	type place struct{ node, path string }
	seen := map[place][]*Operation{}
	for _, o := range h.of(Request) {
		if o.Status == 200 && o.Node != "" && len(o.AsOf) == 1 {
			at := place{o.Node, o.Path}
			seen[at] = append(seen[at], o)
		}
	}
	for _, reads := range seen {
		problems = append(problems, backwards(h, reads)...)
	}
	slices.Sort(problems)
	return problems
}

// backwards returns the reads of one path at one node that show an earlier state than one before.
func backwards(h History, reads []*Operation) (problems []string) {
	returned := slices.SortedFunc(slices.Values(reads), func(a, b *Operation) int { return cmp.Compare(a.Return, b.Return) })
	slices.SortFunc(reads, func(a, b *Operation) int { return cmp.Compare(a.Call, b.Call) })
	// latest has the latest state of all reads that returned before the next one was called.
	var latest *Operation
	for _, read := range reads {
		for len(returned) > 0 && returned[0].Return < read.Call {
			if latest == nil || returned[0].isAfter(latest) {
				latest = returned[0]
			}
			returned = returned[1:]
		}
		if latest == nil || !latest.isAfter(read) {
			continue
		}
		hasBallots := read.Casts >= latest.Casts
		mayBeEarlier := func(f *Operation) bool { return f.Rewinds || f.SetsClock && hasBallots }
		if len(h.during(latest.Call, read.Return, mayBeEarlier)) > 0 {
			latest = read
			continue
		}
		problems = append(problems, fmt.Sprintf("%s shows state %d as of %d, after %s has shown %d as of %d",
			read, read.Casts, read.AsOf[0], latest, latest.Casts, latest.AsOf[0]))
	}
	return problems
}

// isAfter reports whether an answer shows a later state than another one.
func (o *Operation) isAfter(other *Operation) bool {
	return o.AsOf[0] > other.AsOf[0] || o.Casts > other.Casts
}

// checkETags checks that no ETag names two bodies, on whatever node.
func checkETags(h History, _ Setting) (problems []string) {
	named := map[string]*Operation{}
	for i := range h {
		o := &h[i]
		if o.Status != 200 || o.ETag == "" || o.Kind != Request && o.Kind != Export {
			continue
		}
		first, known := named[o.ETag]
		if !known {
			named[o.ETag] = o
			continue
		}
		if first.Body != o.Body || first.Path != o.Path {
			problems = append(problems, fmt.Sprintf("%s names the body of %s and another one of %s", o.ETag, first, o))
		}
	}
	return problems
}
