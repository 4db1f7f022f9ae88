package demo

import (
	"regexp"
	"testing"
	"time"
)

func TestEveryGapInATextIsFilled(t *testing.T) {
	t.Parallel()
	v := newVocabulary()
	d := newDice()
	words := v.drawSlots(d, &dao{root: "Root", name: "Root DAO", symbol: "ROO"}, time.Date(2026, time.May, 4, 0, 0, 0, 0, time.UTC))
	gaps := regexp.MustCompile(`{(.*?)}`)
	var texts []string
	for _, f := range v.families {
		for _, list := range [][]string{f.titles, f.summary, f.motivation, f.steps, f.risks, f.costs, f.choices} {
			texts = append(texts, list...)
		}
	}
	for _, talk := range v.talks {
		texts = append(append(append(texts, talk.titles...), talk.sentences...), talk.items...)
	}
	for _, list := range [][]string{v.motivation, v.steps, v.risks, v.closings} {
		texts = append(texts, list...)
	}
	for _, text := range texts {
		for _, gap := range gaps.FindAllStringSubmatch(text, -1) {
			if words[gap[1]] == "" {
				t.Errorf("got nothing for %s in %q, want a word", gap[0], text)
			}
		}
	}
}

func TestFamiliesCanBeVotedOn(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, category := range categories() {
		known[category.Name] = true
	}
	for _, f := range families() {
		if len(f.titles) < 4 || len(f.summary) < 2 || len(f.motivation) < 3 || len(f.steps) < 3 || len(f.risks) < 1 {
			t.Errorf("got few texts for %q, want enough to vary", f.titles)
		}
		if wants := f.shape == options || f.shape == allocation; wants != (len(f.choices) > 3) {
			t.Errorf("got %d choices for %q", len(f.choices), f.titles[0])
		}
		if len(f.choices) > maxChoices {
			t.Errorf("got %d choices for %q, want at most %d", len(f.choices), f.titles[0], maxChoices)
		}
		if !known[f.category] {
			t.Errorf("got category %q for %q, want one that forums have", f.category, f.titles[0])
		}
	}
}
