package publish

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func rankedProposal(choices ...string) records.Proposal {
	return snapshotProposal(func(p *record.Proposal) {
		p.VoteType, p.Choices = governance.RankedChoice, choices
	})
}

// rankedBy returns ballots that each rank all choices up to a number.
func rankedBy(votes uint64, choices int) ballots {
	b := ballots{totals: counts.VoteTotals{Votes: votes, Choices: map[string]governance.Score{}}}
	for i := range choices {
		b.totals.Choices[strconv.Itoa(i+1)] = governance.Score{Votes: votes}
	}
	return b
}

func TestAttackVoteBeyondTheWorkBudgetIsNotCounted(t *testing.T) {
	t.Parallel()
	huge := evaluate(rankedProposal("A", "B", "C"), "dao", rankedBy(20_000_000, 3), now)
	if !slices.Contains(huge.flags, rules.ScoresUnavailable) || len(huge.result.choiceTotals()) != 0 || *huge.result.votes != 20_000_000 {
		t.Errorf("got flags %v, choices %v, votes %d, want scores_unavailable, no choices, all votes",
			huge.flags, huge.result.choiceTotals(), *huge.result.votes)
	}
	stated := rankedProposal("A", "B", "C")
	stated.State, stated.StatedScoresTotal = "closed", power("6")
	stated.StatedScores = []decimal.Decimal{decimal.NewFromInt(1), decimal.NewFromInt(2), decimal.NewFromInt(3)}
	huge = evaluate(stated, "dao", rankedBy(20_000_000, 3), now)
	if slices.Contains(huge.flags, rules.ScoresUnavailable) || len(huge.result.choiceTotals()) != 3 || huge.result.choiceTotals()[2].VotingPower != "3" {
		t.Errorf("with stated scores: got flags %v, choices %v, want upstream's scores", huge.flags, huge.result.choiceTotals())
	}
	usual := evaluate(rankedProposal("A", "B", "C"), "dao", rankedBy(1000, 3), now)
	if slices.Contains(usual.flags, rules.ScoresUnavailable) {
		t.Errorf("a usual vote: got flags %v, want no scores_unavailable", usual.flags)
	}
}

func TestAttackRankingNamesOnlyStatedChoices(t *testing.T) {
	t.Parallel()
	b := grouped("5 65535,400,2", "4 1", "3 9", "2 2,1")
	got := evaluate(rankedProposal("A", "B"), "dao", b, now)
	want := []governance.ChoiceTotal{
		{Key: "1", Label: "A", Votes: new(governance.Decimal("1")), VotingPower: "4"},
		{Key: "2", Label: "B", Votes: new(governance.Decimal("1")), VotingPower: "2"},
	}
	if diff := cmp.Diff(want, got.result.choiceTotals()); diff != "" {
		t.Errorf("choices (-want +got):\n%s", diff)
	}
	if !slices.Contains(got.flags, rules.BallotsInvalid) {
		t.Errorf("got flags %v, want ballots_invalid", got.flags)
	}
}
