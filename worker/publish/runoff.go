package publish

import (
	"slices"

	"pnyx/governance"
	"pnyx/warehouse"
)

// maxPreferences is the work budget of a run-off: the preferences that the ballots of one
// proposal state together. 100,000 voters can rank 100 choices. A vote beyond it takes the
// scores that upstream states, and the proposals after it do not wait.
const maxPreferences = 10_000_000

// preferences counts the preferences of a ranked-choice vote. All other votes have none.
func preferences(p warehouse.Proposal, t warehouse.VoteTotals) (count uint64) {
	if p.VoteType != governance.RankedChoice {
		return 0
	}
	for _, choice := range t.Choices {
		count += choice.Votes
	}
	return count
}

// countRunoff returns the last round of a ranked-choice vote. Where upstream states the
// choices, a ballot passes over all others, as over those that are eliminated: rankings are
// no longer than the list of choices.
func countRunoff(
	p warehouse.Proposal, rankings []governance.Ranking,
) map[string]governance.Score {
	if len(p.Choices) > 0 {
		stated := make(map[string]bool, len(p.Choices))
		for i := range p.Choices {
			stated[p.Provider.ChoiceKey(i)] = true
		}
		for i := range rankings {
			rankings[i].Choices = slices.DeleteFunc(rankings[i].Choices, func(key string) bool {
				return !stated[key]
			})
		}
	}
	return governance.InstantRunoff(rankings, governance.CompareChoiceKeys)
}
