package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"pnyx/governance/rules"
)

// Each rule is given a topic to which it alone applies, and one that only just
// misses it.
func TestTopicRulesApplyAsDocumented(t *testing.T) {
	t.Parallel()
	terms := "The council asks for a vote on the budget"
	for _, c := range []struct {
		rules      string
		hit, miss  rules.TopicFacts
		hitIsBelow bool
	}{
		{rules: "linked_proposal", hit: rules.TopicFacts{Proposals: 1}},
		{rules: "category", hit: rules.TopicFacts{Category: "Grants 🏹"}, miss: rules.TopicFacts{Category: "Grantsy"}},
		{rules: "proposal_title", hit: rules.TopicFacts{Title: "Proposal: x"}, miss: rules.TopicFacts{Title: "Proposer"}},
		{rules: "stage_mark", hit: rules.TopicFacts{Title: "[x][DRAFT] y"}, miss: rules.TopicFacts{Title: "a draft [y] final]"}},
		{rules: "governance_title", hit: rules.TopicFacts{Title: "Our Treasury."}, miss: rules.TopicFacts{Title: "Our treasures"}},
		{rules: "governance_title two_governance_words decision_title", hit: rules.TopicFacts{Title: "Council elections"}, miss: rules.TopicFacts{Title: "Council and council"}},
		{rules: "decision_title", hit: rules.TopicFacts{Title: "RetroPGF 4: results"}, miss: rules.TopicFacts{Title: "Retrograde"}},
		{rules: "tag", hit: rules.TopicFacts{Tags: []string{"x", "season-4"}}, miss: rules.TopicFacts{Tags: []string{"seasonal"}}},
		{rules: "tag", hit: rules.TopicFacts{Tags: []string{"security-council"}}, miss: rules.TopicFacts{Tags: []string{"security"}}},
		{rules: "body", hit: rules.TopicFacts{Body: terms + " of the treasury"}, miss: rules.TopicFacts{Body: terms}},
		{rules: "long_post", hit: rules.TopicFacts{Body: strings.Repeat("ж", 1500)}, miss: rules.TopicFacts{Body: strings.Repeat("ж", 1499)}},
		{rules: "replies", hit: rules.TopicFacts{Replies: 10}, miss: rules.TopicFacts{Replies: 9}},
		{rules: "replies many_replies", hit: rules.TopicFacts{Replies: 50}},
		{rules: "category off_topic", hit: rules.TopicFacts{Category: "Proposals, memes"}, miss: rules.TopicFacts{Category: "memories"}},
		{rules: "category off_topic", hit: rules.TopicFacts{Category: "Proposals (Off-Topic)"}, miss: rules.TopicFacts{Category: "Topic off"}},
		{rules: "body", hit: rules.TopicFacts{Body: terms + " token-holders"}, miss: rules.TopicFacts{Body: terms + " token"}},
		{rules: "proposal_title category_stub", hit: rules.TopicFacts{Title: "About the Proposal category"}, miss: rules.TopicFacts{Title: "About the category x"}},
	} {
		want := 0
		for _, rule := range rules.TopicRules() {
			if strings.Contains(" "+c.rules+" ", " "+rule.Name+" ") {
				want += rule.Points
			}
		}
		if got, _ := rules.TopicRelevance(c.hit); got != max(want, 0) {
			t.Errorf("%s: got %d, want %d points", c.rules, got, want)
		}
		if got, _ := rules.TopicRelevance(c.miss); got >= max(want, 1) {
			t.Errorf("%s missed: got %d, want fewer points than %d", c.rules, got, want)
		}
	}
}

func TestRelevanceIsAScoreOfAHundred(t *testing.T) {
	t.Parallel()
	everything := rules.TopicFacts{
		Title: "[RFC] Proposal: council election and treasury budget", Category: "Governance proposals", Tags: []string{"proposal"},
		Body: strings.Repeat("The council asks for a vote on the budget of the treasury. ", 40), Replies: 100, Proposals: 3,
	}
	for name, c := range map[string]struct {
		facts   rules.TopicFacts
		score   int
		related bool
	}{
		"nothing":           {rules.TopicFacts{}, 0, false},
		"everything":        {everything, 100, true},
		"a category's stub": {rules.TopicFacts{Title: "About the Governance category", Category: "Governance"}, 0, false},
		"linked off-topic":  {rules.TopicFacts{Category: "Memes", Proposals: 1}, 15, true},
		"just below":        {rules.TopicFacts{Category: "Grants"}, 25, false},
		"just enough":       {rules.TopicFacts{Category: "Grants", Replies: 10}, rules.RelevantFrom, true},
	} {
		score, related := rules.TopicRelevance(c.facts)
		if score != c.score || related != c.related {
			t.Errorf("%v: got %d, %t, want %d, %t", name, score, related, c.score, c.related)
		}
	}
}

func TestTopicListHasALinePerRule(t *testing.T) {
	t.Parallel()
	list := rules.TopicRulesMarkdown()
	names := map[string]bool{}
	for _, rule := range rules.TopicRules() {
		line := fmt.Sprintf("- `%s` (%+d): %s\n", rule.Name, rule.Points, rule.Meaning)
		if !strings.Contains(list, line) || names[rule.Name] || !strings.HasSuffix(rule.Meaning, ".") || rule.Points == 0 {
			t.Errorf("%s: got\n%s\nwant a line of its own: %s", rule.Name, list, line)
		}
		names[rule.Name] = true
	}
	if !strings.Contains(list, fmt.Sprintf("from %d", rules.RelevantFrom)) {
		t.Errorf("got\n%s\nwant the threshold in it", list)
	}
}

func TestThreadsAboutFundsAndOfficesAreAboutGovernance(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]bool{
		"Grants Round 18: eligible projects":        true,
		"Airdrop #3 feedback":                       true,
		"RetroPGF 3 voter guide":                    true,
		"Retro Funding 5: application review":       true,
		"Security Council Elections: my platform":   true,
		"Nominations for the stewards are open":     true,
		"2026 budget of the growth team":            true,
		"Ecosystem grantees: monthly report":        true,
		"Wallet does not connect":                   false,
		"Where to buy a hat":                        false,
		"New theme of the forum":                    false,
		"Integration of a wallet by a market maker": false,
	} {
		if score, related := rules.TopicRelevance(rules.TopicFacts{Title: title}); related != want {
			t.Errorf("%q: got score %d, related %t", title, score, related)
		}
	}
}
