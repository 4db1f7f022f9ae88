package governance_test

import (
	"slices"
	"testing"

	"pnyx/governance"
)

func TestImportanceFollowsTypeAttentionAndConfidence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		eventType  string
		confidence governance.Confidence
		attention  uint64
		want       int
	}{
		"nobody voted":          {governance.VotingEnded, governance.ExactTime, 0, 70},
		"one ballot too few":    {governance.VotingEnded, governance.ExactTime, 99, 70},
		"a hundred ballots":     {governance.VotingEnded, governance.ExactTime, 100, 75},
		"a thousand ballots":    {governance.VotingEnded, governance.DayTime, 1000, 80},
		"a million ballots":     {governance.ProposalExecuted, governance.DerivedTime, 1_000_000, 95},
		"a topic of nine posts": {governance.ForumTopicCreated, governance.ExactTime, 9, 20},
		"a topic of ten posts":  {governance.ForumTopicCreated, governance.ExactTime, 10, 25},
		"only discovered":       {governance.ProposalExecuted, governance.DiscoveredTime, 5000, 10},
		"of no known type":      {"paused", governance.ExactTime, 5000, 0},
	} {
		if got := governance.ImportanceOf(c.eventType, c.confidence, c.attention); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestTheSetsOfTypesAreClosedAndWithoutRepetition(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{governance.EventTypeNames(), governance.SignalTypeNames()} {
		sorted := slices.Sorted(slices.Values(names))
		if len(names) == 0 || len(slices.Compact(sorted)) != len(names) {
			t.Errorf("got %v, want each once", names)
		}
	}
	for _, eventType := range governance.EventTypes() {
		if eventType.Importance < 0 || eventType.Importance > 85 || eventType.Meaning == "" {
			t.Errorf("%+v: want a meaning, and room for 15 more up to 100", eventType)
		}
	}
}

func TestIDsDependOnEveryPart(t *testing.T) {
	t.Parallel()
	ids := []string{
		governance.EventID("a", "b", "c"), governance.EventID("ab", "", "c"), governance.EventID("a", "b", "d"),
		governance.EventID("a", "c", "c"), governance.SignalID("a", "b", "c"),
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != 5 {
		t.Errorf("got %v, want five", ids)
	}
	if got, want := governance.EventID("dao", governance.VotingEnded, "p1_x"), governance.EventID("dao", "voting_ended", "p1_x"); got != want || got[:3] != "e1_" || len(got) != 25 {
		t.Errorf("got %s, want e1_ and 22 characters, the same each time", got)
	}
}
