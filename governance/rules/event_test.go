package rules_test

import (
	"slices"
	"testing"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/check"
)

func TestImportanceFollowsTypeAttentionAndConfidence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		eventType  string
		confidence governance.Confidence
		attention  uint64
		want       int
	}{
		"nobody voted":          {rules.VotingEnded, governance.ExactTime, 0, 70},
		"one ballot too few":    {rules.VotingEnded, governance.ExactTime, 99, 70},
		"a hundred ballots":     {rules.VotingEnded, governance.ExactTime, 100, 75},
		"a thousand ballots":    {rules.VotingEnded, governance.DayTime, 1000, 80},
		"a million ballots":     {rules.ProposalExecuted, governance.DerivedTime, 1_000_000, 95},
		"a topic of nine posts": {rules.ForumTopicCreated, governance.ExactTime, 9, 20},
		"a topic of ten posts":  {rules.ForumTopicCreated, governance.ExactTime, 10, 25},
		"only discovered":       {rules.ProposalExecuted, governance.DiscoveredTime, 5000, 10},
		"of no known type":      {"paused", governance.ExactTime, 5000, 0},
	} {
		check.Want(t, c.want, rules.ImportanceOf(c.eventType, c.confidence, c.attention), name)
	}
}

func TestTypeNamesAreUnique(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{rules.EventTypeNames(), rules.SignalTypeNames()} {
		sorted := slices.Sorted(slices.Values(names))
		if len(names) == 0 || len(slices.Compact(sorted)) != len(names) {
			t.Errorf("got %v, want each once", names)
		}
	}
	for _, eventType := range rules.EventTypes() {
		if eventType.Importance < 0 || eventType.Importance > 85 || eventType.Meaning == "" {
			t.Errorf("%+v: want a meaning, and room for 15 more up to 100", eventType)
		}
	}
}
