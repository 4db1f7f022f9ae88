package publish

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// grouped returns ballots of a power and a list of choices each, as the warehouse counts them:
// "5 2,1". A ballot with weights gives equal parts: "5 2=,1=".
func grouped(casts ...string) (b ballots) {
	b.totals.Choices, b.totals.RootSums = map[string]governance.Score{}, map[string]decimal.Decimal{}
	for _, cast := range casts {
		text, list, _ := strings.Cut(cast, " ")
		group := governance.Ranking{Votes: 1, Power: *power(text)}
		if list != "" {
			group.Choices = strings.Split(strings.ReplaceAll(list, "=", ""), ",")
		}
		if strings.Contains(list, "=") {
			for range group.Choices {
				share := group.Power.Div(decimal.NewFromInt(int64(len(group.Choices))))
				group.Shares, group.Roots = append(group.Shares, share), append(group.Roots, governance.SquareRoot(share))
			}
		}
		b.groups = append(b.groups, group)
		b.totals.Votes++
		b.totals.Power = b.totals.Power.Add(group.Power)
		if len(group.Choices) > 0 {
			b.totals.Support(group)
		}
	}
	return b
}

func TestInvalidBallotsCountAsUpstreamCountsThem(t *testing.T) {
	t.Parallel()
	voting := func(v governance.VoteType, total, scores string) records.Proposal {
		return stating("final", "4", total, scores, func(p *record.Proposal) {
			p.VoteType, p.Quorum, p.Choices = v, nil, []string{"A", "B", "C"}
		})
	}
	unstated := func(v governance.VoteType) records.Proposal {
		return stating("", "", "", "", func(p *record.Proposal) {
			p.VoteType, p.Quorum, p.Choices = v, nil, []string{"A", "B", "C"}
			p.StatedScores = []decimal.Decimal{}
		})
	}
	for name, c := range map[string]struct {
		proposal records.Proposal
		casts    string
		want     string
		invalid  bool
	}{
		"rankings of a part": {voting(governance.RankedChoice, "125", "40 35 0"), "40 1,2,3;35 2,1,3;30 3;20 3,2", "ballots 4 125 (40 35 0)", true},
		"all rank everything": {
			voting(governance.RankedChoice, "125", "75 0 50"), "40 1,2,3;35 2,1,3;30 3,1,2;20 3,2,1", "ballots 4 125 (75 0 50)", false,
		},
		"rankings of a part that upstream counted": {
			voting(governance.RankedChoice, "125", "75 0 50"), "40 1,2,3;35 2,1,3;30 3;20 3,2", "ballots 4 125 (75 0 50)", false,
		},
		"rankings of a part that upstream counted, no total": {
			voting(governance.RankedChoice, "", "75 0 50"), "40 1,2,3;35 2,1,3;30 3;20 3,2", "ballots 4 125 (75 0 50)", false,
		},
		"rankings of a part that upstream left out, no total": {
			voting(governance.RankedChoice, "", "40 35 0"), "40 1,2,3;35 2,1,3;30 3;20 3,2", "ballots 4 125 (40 35 0)", true,
		},
		"rankings of a part, no scores":        {unstated(governance.RankedChoice), "40 1,2,3;35 2,1,3;30 3;20 3,2", "ballots 4 125 (75 0 50)", false},
		"approval, one choice does not exist":  {voting(governance.Approval, "25", "10 10 0"), "10 1,2;5 ;7 ;3 1,4", "ballots 4 25 (10 10 0)", true},
		"approval, no scores":                  {unstated(governance.Approval), "10 1,2;5 ;3 1,4", "ballots 3 18 (10 10 0)", true},
		"weights, one choice does not exist":   {voting(governance.Weighted, "30", "5 5 0"), "10 1=,2=;20 1=,7=", "", true},
		"quadratic, one choice does not exist": {unstated(governance.Quadratic), "10 1=,2=;20 1=,7=", "ballots 2 30 (5 5 0)", true},
		"a list where one choice is wanted":    {voting(governance.Basic, "120", "60 20 0"), "60 1;20 2;30 1,2;10 4", "ballots 4 120 (60 20 0)", true},
		"one stray ballot":                     {voting(governance.Basic, "", "60 20 0"), "60 1;20 2;0.001 4;0.001 7", "ballots 4 80.002 (60 20 0)", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := grouped(strings.Split(c.casts, ";")...)
			if !needsGroups(c.proposal, b.totals) {
				b.groups = nil
			}
			e := evaluate(c.proposal, "dao", b, now)
			if e.result.unbalanced != nil {
				t.Error(e.result.unbalanced)
			}
			if got := said(e); c.want != "" && !strings.HasPrefix(got, c.want+",") {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if got := slices.Contains(e.flags, rules.BallotsInvalid); got != c.invalid {
				t.Errorf("got flags %v, want ballots_invalid: %t", e.flags, c.invalid)
			}
			if slices.Contains(e.flags, rules.TotalsDifferUpstream) && c.want != "" {
				t.Errorf("got flags %v, want no difference", e.flags)
			}
			if len(e.result.choices) != 3 {
				t.Errorf("got choices %v, want those that upstream states", e.result.choices)
			}
		})
	}
}

func TestCopelandLeavesRankingsOfAPartOutOfTheTotal(t *testing.T) {
	t.Parallel()
	p := stating("final", "3", "10", "6.6 3.4", func(p *record.Proposal) {
		p.VoteType, p.Quorum, p.Choices = governance.Copeland, nil, []string{"A", "B"}
	})
	e := evaluate(p, "dao", grouped("7 1,2", "3 2,1", "90 2"), now)
	if got, want := said(e), "upstream 3 10 (6.6 3.4), held 3 100, complete"; !strings.HasPrefix(got, want) || slices.Contains(e.flags, rules.TotalsDifferUpstream) {
		t.Errorf("got %s, %v, want %s", got, e.flags, want)
	}
}

func TestGroupsOfOtherBallotsThanTheTotalsAreUnbalanced(t *testing.T) {
	t.Parallel()
	b := grouped("10 1,2", "3 1,4")
	b.totals.Votes++
	e := evaluate(stating("", "", "", "", func(p *record.Proposal) { p.VoteType = governance.Approval }), "dao", b, now)
	if e.result.unbalanced == nil {
		t.Errorf("got %s, want it held back", fmt.Sprint(said(e)))
	}
}
