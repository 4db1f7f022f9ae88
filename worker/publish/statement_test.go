package publish

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// stating returns a statement of a basic vote that is over: scores by spaces, and the total, else their sum.
func stating(state, votes, total, scores string, change ...func(*record.Proposal)) records.Proposal {
	return snapshotProposal(func(p *record.Proposal) {
		p.VoteType, p.State, p.ScoresState, p.QuorumRaw, p.Quorum = governance.Basic, "closed", state, "40", power("40")
		if votes != "" {
			p.StatedVotes = new(uint64(decimal.RequireFromString(votes).IntPart()))
		}
		if total != "" {
			p.StatedScoresTotal = power(total)
		}
		for score := range strings.FieldsSeq(scores) {
			p.StatedScores = append(p.StatedScores, *power(score))
		}
		for _, c := range change {
			c(p)
		}
	})
}

func said(e evaluation) string {
	s := e.summary()
	basis, totals, quorum, result := "none", "", "", ""
	if s.Basis != nil {
		basis = string(*s.Basis)
		votes := "?"
		if s.Totals.Votes != nil {
			votes = string(*s.Totals.Votes)
		}
		totals = " " + votes + " " + string(s.Totals.VotingPower)
	}
	if s.Quorum != nil {
		quorum = ", quorum " + string(s.Quorum.Progress)
		if s.Quorum.Reached != nil {
			quorum += fmt.Sprint(" ", *s.Quorum.Reached)
		}
	}
	if s.Result != nil {
		result = ", tie"
		if s.Result.ChoiceKey != nil {
			result = ", won by " + *s.Result.ChoiceKey
		}
		result += " " + string(s.Result.MarginPower) + " " + string(s.Result.MarginPercent) + "%"
	}
	choices := make([]string, len(s.Choices))
	for i, choice := range s.Choices {
		choices[i] = string(choice.VotingPower)
	}
	return fmt.Sprintf("%s%s (%s), held %s %s, %s%s, %s%s", basis, totals, strings.Join(choices, " "), s.Held.Votes, s.Held.VotingPower,
		s.CoverageStatus, quorum, e.outcome, result)
}

func TestTotalsAreThoseOfOneBasis(t *testing.T) {
	t.Parallel()
	three := counted(map[string]string{"1": "10", "2": "3", "3": "2"})
	stray := counted(map[string]string{"1": "60", "2": "20", "4": "0.001"})
	open := func(p *record.Proposal) { p.State, p.EndAt = "active", in(1) }
	ranked := func(p *record.Proposal) { p.VoteType, p.Quorum = governance.Copeland, nil }
	for name, c := range map[string]struct {
		proposal records.Proposal
		ballots  ballots
		want     string
	}{
		"partial ballots, final scores": {
			stating("final", "33", "", "1000 101 0"), three,
			"upstream 33 1101 (1000 101 0), held 3 15, partial, quorum 27.525 true, passed, won by 1 899 81.65%",
		},
		"none held":                               {stating("final", "33", "", "1000 101 0"), ballots{}, "upstream 33 1101 (1000 101 0), held 0 0, unavailable, quorum 27.525 true, passed, won by 1 899 81.65%"},
		"only totals are stated":                  {stating("", "33", "30", ""), ballots{}, "upstream 33 30 (), held 0 0, unavailable, quorum 0.75 false, unknown"},
		"totals are stated, a part is held":       {stating("", "33", "50", ""), three, "upstream 33 50 (), held 3 15, partial, quorum 1.25 true, unknown"},
		"the number of votes is not stated":       {stating("final", "", "", "100 50 0"), three, "upstream ? 150 (100 50 0), held 3 15, partial, quorum 3.75 true, passed, won by 1 50 33.33%"},
		"all agrees":                              {stating("final", "3", "15", "10 3 2"), three, "ballots 3 15 (10 3 2), held 3 15, complete, quorum 0.375 false, failed, won by 1 7 46.66%"},
		"one score differs":                       {stating("final", "3", "15", "3 10 2"), three, "upstream 3 15 (3 10 2), held 3 15, complete, quorum 0.375 false, failed, won by 2 7 46.66%"},
		"fewer votes are stated":                  {stating("final", "2", "13", "10 3 0"), three, "upstream 2 13 (10 3 0), held 3 15, complete, quorum 0.325 false, failed, won by 1 7 53.84%"},
		"scores pending after the end":            {stating("pending", "3", "", "1 5 0"), three, "ballots 3 15 (10 3 2), held 3 15, complete, quorum 0.375 false, unknown"},
		"scores pending after the end, none held": {stating("pending", "3", "60", "0 0 0"), ballots{}, "none (), held 0 0, unavailable, unknown"},
		"scores invalid":                          {stating("invalid", "3", "0", "0 0 0"), three, "ballots 3 15 (10 3 2), held 3 15, complete, quorum 0.375 false, unknown"},
		"a statement of while the vote was open": {
			stating("", "3", "", "10 3 2", func(p *record.Proposal) { p.State = "active" }), three,
			"ballots 3 15 (10 3 2), held 3 15, complete, quorum 0.375 false, unknown",
		},
		"pending zeros that only upstream counts": {stating("pending", "3", "0", "0 0 0", ranked), three, "ballots 3 15 (), held 3 15, complete, unknown"},
		"copeland, a partial ballot left out of the total": {
			stating("final", "3", "10", "6.6 3.4 0", ranked), three,
			"upstream 3 10 (6.6 3.4 0), held 3 15, complete, unknown, won by 1 3.2 32%",
		},
		"open, upstream states more":          {stating("pending", "5", "", "50 3 2", open), three, "upstream 5 55 (50 3 2), held 3 15, partial, quorum 1.375 true, unknown"},
		"open, upstream lags":                 {stating("pending", "2", "", "10 3 0", open), three, "ballots 3 15 (10 3 2), held 3 15, complete, quorum 0.375 false, unknown"},
		"partial ballots without a statement": {stating("", "33", "", ""), three, "ballots 3 15 (10 3 2), held 3 15, partial, quorum 0.375, unknown"},
		"partial ballots that reach the quorum": {
			stating("", "33", "", "", func(p *record.Proposal) { p.Quorum = power("15") }), three,
			"ballots 3 15 (10 3 2), held 3 15, partial, quorum 1 true, unknown",
		},
		"a stray ballot makes no choice": {
			stating("final", "3", "80.001", "60 20 0"), stray,
			"ballots 3 80.001 (60 20 0), held 3 80.001, complete, quorum 2.000025 true, passed, won by 1 40 49.99%",
		},
		"a stray ballot that upstream leaves out of the total": {
			stating("final", "3", "80", "60 20 0", func(p *record.Proposal) { p.Quorum = power("80.001") }), stray,
			"upstream 3 80 (60 20 0), held 3 80.001, complete, quorum 0.999987 false, failed, won by 1 40 50%",
		},
		"a stray ballot without a statement": {stating("", "", "", ""), stray, "ballots 3 80.001 (60 20 0), held 3 80.001, complete, quorum 2.000025 true, passed, won by 1 40 49.99%"},
		"a quorum of zero is none": {
			stating("final", "3", "15", "10 3 2", func(p *record.Proposal) { p.QuorumRaw, p.Quorum = "0", power("0") }), three,
			"ballots 3 15 (10 3 2), held 3 15, complete, passed, won by 1 7 46.66%",
		},
		"a tie": {stating("final", "2", "10", "5 5 0"), counted(map[string]string{"1": "5", "2": "5"}), "ballots 2 10 (5 5 0), held 2 10, complete, quorum 0.25 false, failed, tie 0 0%"},
		"a rejection that is not exceeded": {
			stating("final", "2", "45", "5 40 0", func(p *record.Proposal) { p.QuorumType = governance.QuorumOfRejection }),
			counted(map[string]string{"1": "5", "2": "40"}),
			"ballots 2 45 (5 40 0), held 2 45, complete, quorum 1 false, passed, won by 2 35 77.77%",
		},
		"a rejection": {
			stating("final", "2", "", "50 40.1 0", func(p *record.Proposal) { p.QuorumType = governance.QuorumOfRejection }),
			ballots{},
			"upstream 2 90.1 (50 40.1 0), held 0 0, unavailable, quorum 1.0025 true, failed, won by 1 9.9 10.98%",
		},
		"labels in another language": {
			stating("final", "3", "15", "10 3 2", func(p *record.Proposal) { p.Choices, p.Quorum = []string{"赞成", "反对", "弃权"}, nil }), three,
			"ballots 3 15 (10 3 2), held 3 15, complete, passed, won by 1 7 46.66%",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := said(evaluate(c.proposal, "dao", c.ballots, now)); got != c.want {
				t.Errorf("got\n%s, want\n%s", got, c.want)
			}
		})
	}
}

func TestAGovernorsStatementCountsToTheLastDigit(t *testing.T) {
	t.Parallel()
	votes := counted(map[string]string{"for": "10", "against": "3", "abstain": "2"})
	stated := chainProposal("executed", func(p *record.Proposal) {
		p.StatedScores = []decimal.Decimal{*power("10.000000000000000001"), *power("3"), *power("2")}
	})
	want := "upstream ? 15.000000000000000001 (10.000000000000000001 3 2), held 3 15, partial, executed, won by for 7.000000000000000001 46.66%"
	if got := said(evaluate(stated, "dao", votes, now)); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

func TestTotalsOfUpstreamAreFlagged(t *testing.T) {
	t.Parallel()
	open := evaluate(stating("pending", "5", "", "50 3 2", func(p *record.Proposal) { p.State, p.EndAt = "active", in(1) }), "dao", ballots{}, now)
	over := evaluate(stating("final", "5", "", "50 3 2"), "dao", ballots{}, now)
	stray := evaluate(stating("final", "3", "80.001", "60 20 0"), "dao", counted(map[string]string{"1": "60", "2": "20", "4": "0.001"}), now)
	for name, c := range map[string]struct {
		e    evaluation
		flag governance.QualityFlag
		want bool
	}{
		"open, the totals":     {open, rules.TotalsFromUpstream, true},
		"open, provisional":    {open, rules.Provisional, true},
		"over, the totals":     {over, rules.TotalsFromUpstream, true},
		"over, provisional":    {over, rules.Provisional, false},
		"stray, the totals":    {stray, rules.TotalsFromUpstream, false},
		"stray, the ballot":    {stray, rules.BallotsInvalid, true},
		"stray, no difference": {stray, rules.TotalsDifferUpstream, false},
	} {
		if got := slices.Contains(c.e.flags, c.flag); got != c.want {
			t.Errorf("%s: got flags %v, want %s: %t", name, c.e.flags, c.flag, c.want)
		}
	}
}

// grouped returns ballots of a power and choices each: "5 2,1", or in equal parts: "5 2=,1=".
func grouped(casts ...string) (b ballots) {
	b.totals.Choices, b.totals.RootSums, b.totals.Forms = map[string]governance.Score{}, map[string]decimal.Decimal{}, map[string]uint64{}
	for _, cast := range casts {
		text, list, _ := strings.Cut(cast, " ")
		group := governance.Ranking{Votes: 1, Power: *power(text)}
		if list != "" {
			group.Choices = strings.Split(strings.ReplaceAll(list, "=", ""), ",")
		}
		if strings.Contains(list, ",") {
			group.Form = governance.ListForm
		}
		if strings.Contains(list, "=") {
			group.Form = governance.WeightsForm
			for range group.Choices {
				share := group.Power.Div(decimal.NewFromInt(int64(len(group.Choices))))
				group.Shares, group.Roots = append(group.Shares, share), append(group.Roots, governance.SquareRoot(share))
			}
		}
		b.groups = append(b.groups, group)
		b.totals.Votes++
		b.totals.Forms[string(group.Form)]++
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
		"stray ballots left out of the total":  {voting(governance.Basic, "80", "60 20 0"), "60 1;20 2;0.001 4;0.001 7", "upstream 4 80 (60 20 0)", true},
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
			env.Want(t, 3, len(e.result.choices), "choices", e.result.choices, "those that upstream states")
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

func rankedProposal(choices ...string) records.Proposal {
	return snapshotProposal(func(p *record.Proposal) {
		p.VoteType, p.Choices = governance.RankedChoice, choices
	})
}

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
	var keys []string
	for i := range 2000 {
		keys = append(keys, strconv.Itoa(i+1))
	}
	long := rankedBy(0, 0)
	long.groups = slices.Repeat([]governance.Ranking{{Choices: keys}}, 1000)
	if _, invalid, err := validBallots(rankedProposal(keys...), long, governance.ChoiceBounds{Least: len(keys), Most: len(keys)}); invalid || err != nil {
		t.Errorf("a vote within the budget: got invalid %t, %v, want none", invalid, err)
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
	env.WantSame(t, "choices", want, got.result.choiceTotals())
	if !slices.Contains(got.flags, rules.BallotsInvalid) {
		t.Errorf("got flags %v, want ballots_invalid", got.flags)
	}
}

// A ballot for several choices supports none where it may name one, whether upstream states the choices or not.
func TestBallotForSeveralChoicesBalancesWithoutStatedChoices(t *testing.T) {
	t.Parallel()
	for _, stated := range [][]string{nil, {"A", "B"}} {
		p := snapshotProposal(func(p *record.Proposal) { p.VoteType, p.Choices = governance.SingleChoice, stated })
		b := grouped("5 1", "4 2,1")
		if !needsGroups(p, b.totals) {
			t.Fatalf("choices %v: the ballots are not read in groups", stated)
		}
		got := countVotes(p, b, true)
		if scores := got.choiceTotals(); got.unbalanced != nil || len(scores) != 2 || scores[0].VotingPower != "5" || !slices.Contains(got.flags, rules.BallotsInvalid) {
			t.Errorf("choices %v: got %v, scores %v, flags %v, want 5 for the first, ballots_invalid", stated, got.unbalanced, got.scores, got.flags)
		}
	}
}
