package histories

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// checkSources checks that answers show states that a followed record had, in order, and the last one in the end.
func checkSources(h History, _ Setting) (problems []string) {
	changes, shows := bySubject(h.of(Change)), bySubject(h.of(Show))
	for _, subject := range slices.Sorted(maps.Keys(shows)) {
		for _, show := range shows[subject] {
			if !slices.ContainsFunc(changes[subject], func(c *Operation) bool { return c.Casts == show.Casts && c.Call <= show.Return }) {
				problems = append(problems, fmt.Sprintf("%s: the upstream did not have state %d", show, show.Casts))
			}
		}
		byNode := map[string][]*Operation{}
		for _, show := range shows[subject] {
			if show.Node != "" {
				byNode[show.Node] = append(byNode[show.Node], show)
			}
		}
		for _, node := range slices.Sorted(maps.Keys(byNode)) {
			problems = append(problems, backwards(h, byNode[node])...)
		}
	}
	for _, subject := range slices.Sorted(maps.Keys(changes)) {
		last := slices.MaxFunc(changes[subject], func(a, b *Operation) int { return cmp.Compare(a.Casts, b.Casts) })
		if len(shows[subject]) == 0 {
			problems = append(problems, fmt.Sprintf("%s was never shown", subject))
			continue
		}
		end := slices.MaxFunc(shows[subject], func(a, b *Operation) int { return cmp.Compare(a.Call, b.Call) })
		if end.Casts != last.Casts {
			problems = append(problems, fmt.Sprintf("%s: it shows state %d in the end, the upstream has %d", end, end.Casts, last.Casts))
		}
	}
	return problems
}

// bySubject groups operations, in their order.
func bySubject(operations []*Operation) map[string][]*Operation {
	groups := map[string][]*Operation{}
	for _, o := range operations {
		groups[o.Subject] = append(groups[o.Subject], o)
	}
	return groups
}
