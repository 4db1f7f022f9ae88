package governance_test

import (
	"fmt"
	"strings"
	"testing"

	"pnyx/governance"
)

// Each rule is given a topic to which it alone applies, and one that only just
// misses it.
func TestEachRuleOfRelevanceAppliesWhereItSays(t *testing.T) {
	t.Parallel()
	terms := "The council asks for a vote on the budget"
	for _, c := range []struct {
		rules      string
		hit, miss  governance.TopicFacts
		hitIsBelow bool
	}{
		{rules: "linked_proposal", hit: governance.TopicFacts{Proposals: 1}},
		{rules: "category", hit: governance.TopicFacts{Category: "Grants 🏹"}, miss: governance.TopicFacts{Category: "Grantsy"}},
		{rules: "proposal_title", hit: governance.TopicFacts{Title: "Proposal: x"}, miss: governance.TopicFacts{Title: "Proposer"}},
		{rules: "stage_mark", hit: governance.TopicFacts{Title: "[x][DRAFT] y"}, miss: governance.TopicFacts{Title: "a draft [y] final]"}},
		{rules: "governance_title", hit: governance.TopicFacts{Title: "Our Treasury."}, miss: governance.TopicFacts{Title: "Our treasures"}},
		{rules: "governance_title two_governance_words", hit: governance.TopicFacts{Title: "Council elections"}, miss: governance.TopicFacts{Title: "Council and council"}},
		{rules: "tag", hit: governance.TopicFacts{Tags: []string{"x", "season-4"}}, miss: governance.TopicFacts{Tags: []string{"seasonal"}}},
		{rules: "tag", hit: governance.TopicFacts{Tags: []string{"security-council"}}, miss: governance.TopicFacts{Tags: []string{"security"}}},
		{rules: "body", hit: governance.TopicFacts{Body: terms + " of the treasury"}, miss: governance.TopicFacts{Body: terms}},
		{rules: "long_post", hit: governance.TopicFacts{Body: strings.Repeat("x", 1500)}, miss: governance.TopicFacts{Body: strings.Repeat("x", 1499)}},
		{rules: "replies", hit: governance.TopicFacts{Replies: 10}, miss: governance.TopicFacts{Replies: 9}},
		{rules: "replies many_replies", hit: governance.TopicFacts{Replies: 50}},
		{rules: "category off_topic", hit: governance.TopicFacts{Category: "Proposals, memes"}, miss: governance.TopicFacts{Category: "memories"}},
		{rules: "proposal_title category_stub", hit: governance.TopicFacts{Title: "About the Proposal category"}, miss: governance.TopicFacts{Title: "About the category x"}},
	} {
		want := 0
		for _, rule := range governance.TopicRules() {
			if strings.Contains(" "+c.rules+" ", " "+rule.Name+" ") {
				want += rule.Points
			}
		}
		if got, _ := governance.TopicRelevance(c.hit); got != max(want, 0) {
			t.Errorf("%s: got %d, want %d points", c.rules, got, want)
		}
		if got, _ := governance.TopicRelevance(c.miss); got >= max(want, 1) {
			t.Errorf("%s missed: got %d, want fewer points than %d", c.rules, got, want)
		}
	}
}

func TestRelevanceIsAScoreOfAHundred(t *testing.T) {
	t.Parallel()
	everything := governance.TopicFacts{
		Title: "[RFC] Proposal: council election and treasury budget", Category: "Governance proposals", Tags: []string{"proposal"},
		Body: strings.Repeat("The council asks for a vote on the budget of the treasury. ", 40), Replies: 100, Proposals: 3,
	}
	for name, c := range map[string]struct {
		facts   governance.TopicFacts
		score   int
		related bool
	}{
		"nothing":           {governance.TopicFacts{}, 0, false},
		"everything":        {everything, 100, true},
		"a category's stub": {governance.TopicFacts{Title: "About the Governance category", Category: "Governance"}, 0, false},
		"linked off-topic":  {governance.TopicFacts{Category: "Memes", Proposals: 1}, 15, true},
		"just below":        {governance.TopicFacts{Category: "Grants"}, 25, false},
		"just enough":       {governance.TopicFacts{Category: "Grants", Replies: 10}, governance.RelevantFrom, true},
	} {
		score, related := governance.TopicRelevance(c.facts)
		if score != c.score || related != c.related {
			t.Errorf("%s: got %d, %t, want %d, %t", name, score, related, c.score, c.related)
		}
	}
}

func TestTheTableOfRulesHasARowForEach(t *testing.T) {
	t.Parallel()
	table := governance.TopicRulesMarkdown()
	names := map[string]bool{}
	for _, rule := range governance.TopicRules() {
		row := fmt.Sprintf("| `%s` | %s | %+d |\n", rule.Name, rule.Meaning, rule.Points)
		if !strings.Contains(table, row) || names[rule.Name] || !strings.HasSuffix(rule.Meaning, ".") || rule.Points == 0 {
			t.Errorf("%s: got\n%s\nwant a row of its own: %s", rule.Name, table, row)
		}
		names[rule.Name] = true
	}
	if !strings.Contains(table, fmt.Sprintf("from %d", governance.RelevantFrom)) {
		t.Errorf("got\n%s\nwant the threshold in it", table)
	}
}
