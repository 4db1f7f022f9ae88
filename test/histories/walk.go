package histories

import (
	"fmt"
	"slices"
)

// checkWalks checks that a walk over the ballots shows each once that counted all the time, none twice, and none
// that was not cast. A walk over nodes of which one lagged behind the first page is not judged.
func checkWalks(h History, s Setting) (problems []string) {
	for _, walk := range h.of(Walk) {
		if walk.Status != 200 || len(walk.Rows) == 0 || slices.Min(walk.AsOf) < walk.AsOf[0] {
			continue
		}
		started := h.castBefore(walk)
		for i, row := range walk.Rows {
			if row >= started || i > 0 && row >= walk.Rows[i-1] {
				problems = append(problems, fmt.Sprintf("%s: row %d is ballot %d of %d after ballot %d", walk, i, row, started, walk.Rows[max(0, i-1)]))
			}
		}
		for ballot := max(0, started-s.Voters); ballot <= walk.Rows[0]; ballot++ {
			if !slices.Contains(walk.Rows, ballot) {
				problems = append(problems, fmt.Sprintf("%s: ballot %d of %d was there throughout, and is not in %v", walk, ballot, started, walk.Rows))
			}
		}
	}
	return problems
}

// castBefore returns how many ballots may have been cast when an operation returned.
func (h History) castBefore(o *Operation) (started int) {
	for _, cast := range h.of(Import) {
		if cast.Call <= o.Return {
			started = max(started, cast.Casts+1)
		}
	}
	return started
}

// checkExports checks that a part of an export is the vote after some ballots, always the same one by revision.
func checkExports(h History, s Setting) (problems []string) {
	first := map[string]*Operation{}
	for _, part := range h.of(Export) {
		if part.Status == 404 {
			problems = append(problems, fmt.Sprintf("%s: a part that was listed is 404, want 410", part))
		}
		if part.Status != 200 {
			continue
		}
		if known := first[part.Path]; known == nil {
			first[part.Path] = part
		} else if known.Body != part.Body {
			problems = append(problems, fmt.Sprintf("%s differs from %s", part, known))
		}
		rows := slices.Sorted(slices.Values(part.Rows))
		if len(rows) == 0 {
			continue
		}
		last := rows[len(rows)-1]
		if want := min(last+1, s.Voters); len(rows) != want || rows[0] != last+1-want || len(slices.Compact(rows)) != want ||
			last >= h.castBefore(part) {
			problems = append(problems, fmt.Sprintf("%s: %v are not the ballots after any number of casts", part, rows))
		}
	}
	return problems
}
