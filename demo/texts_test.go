package demo

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"pnyx/test/check"
)

// newTexts returns the embedded texts.
func newTexts(t *testing.T) texts {
	t.Helper()
	return check.Must(loadTexts())(t)
}

func TestEveryPlaceholderHasAValue(t *testing.T) {
	t.Parallel()
	texts := newTexts(t)
	dao := &dao{shortName: "Root", name: "Root DAO", symbol: "ROO"}
	at := time.Date(2026, time.May, 4, 0, 0, 0, 0, time.UTC)
	values := texts.words.drawPlaceholders(newRandom(), dao, at)
	placeholder := regexp.MustCompile(`{(.*?)}`)
	common := texts.common
	all := slices.Concat(common.Motivation, common.Steps, common.Risks, common.Closings)
	for _, p := range texts.proposals {
		all = slices.Concat(all, p.Titles, p.Summary, p.Motivation, p.Steps, p.Risks, p.Costs, p.Choices)
	}
	for _, topic := range texts.topics {
		all = slices.Concat(all, topic.Titles, topic.Paragraphs, topic.Items)
	}
	for _, text := range all {
		for _, found := range placeholder.FindAllStringSubmatch(text, -1) {
			if values[found[1]] == "" {
				t.Errorf("got no value for %s in %q, want one", found[0], text)
			}
		}
	}
}

func TestProposalTemplatesAreComplete(t *testing.T) {
	t.Parallel()
	texts := newTexts(t)
	for _, p := range texts.proposals {
		t.Run(p.Titles[0], func(t *testing.T) {
			t.Parallel()
			if len(p.Titles) < 4 || len(p.Summary) < 2 || len(p.Motivation) < 3 || len(p.Steps) < 3 || len(p.Risks) < 1 {
				t.Errorf("got %+v, want 4 titles, 2 summaries, 3 motivations, 3 steps, 1 risk", p)
			}
			needsChoices := p.Question == options || p.Question == allocation
			if needsChoices != (len(p.Choices) > 3) || len(p.Choices) > maxChoices {
				t.Errorf("got %d choices for question %s, want 4 to %d or none", len(p.Choices), p.Question, maxChoices)
			}
			if !slices.Contains(texts.words.ForumCategories, p.Category) {
				t.Errorf("got category %q, want one of %q", p.Category, texts.words.ForumCategories)
			}
			if !slices.Contains([]question{yesOrNo, options, candidates, allocation}, p.Question) {
				t.Errorf("got question %q, want a defined one", p.Question)
			}
		})
	}
}
