package fill

import (
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/pages"
)

func TestADossierGivesInvalidBallotsToNoChoice(t *testing.T) {
	t.Parallel()
	vote := func(v governance.VoteType) (of governance.ProposalRow) {
		of.VoteType, of.Bounds = governance.OptionalText(string(v)), governance.Snapshot.ChoiceBounds(v, 2)
		of.Choices = []governance.Choice{{Key: "1"}, {Key: "2"}}
		return of
	}
	shares := []decimal.Decimal{decimal.NewFromInt(1), decimal.NewFromInt(2)}
	for name, c := range map[string]struct {
		of      governance.ProposalRow
		ballot  pages.CountedBallot
		invalid bool
	}{
		"one choice":                 {vote(governance.Basic), pages.CountedBallot{Choices: []string{"2"}}, false},
		"several for one":            {vote(governance.Basic), pages.CountedBallot{Choices: []string{"2", "1"}}, true},
		"one that does not exist":    {vote(governance.Approval), pages.CountedBallot{Choices: []string{"1", "3"}}, true},
		"nothing":                    {vote(governance.Approval), pages.CountedBallot{}, false},
		"a ranking of a part":        {vote(governance.RankedChoice), pages.CountedBallot{Choices: []string{"1"}}, true},
		"shares":                     {vote(governance.Weighted), pages.CountedBallot{Choices: []string{"1", "2"}, Shares: shares}, false},
		"several without shares":     {vote(governance.Weighted), pages.CountedBallot{Choices: []string{"1", "2"}}, true},
		"upstream states no choices": {governance.ProposalRow{}, pages.CountedBallot{Choices: []string{"1", "9"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := invalidIn(c.of)(c.ballot); got != c.invalid {
				t.Errorf("got %t, want %t", got, c.invalid)
			}
		})
	}
}
