package explore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/explore"
	"pnyx/governance"
	"pnyx/test/env"
)

// Times of the vote in tests of curves.
const (
	voteBegins governance.Timestamp = 1_700_000_000_000
	voteEnds   governance.Timestamp = voteBegins + 1_000_000
)

// vote returns a ballot, cast at a thousandth of the voting.
func vote(choice string, power governance.Decimal, thousandth int) governance.Ballot {
	ballot := undated(power)
	ballot.VotedAt = new(voteBegins + governance.Timestamp(thousandth)*1000)
	if choice != "" {
		ballot.ChoiceKey = &choice
	}
	return ballot
}

func undated(power governance.Decimal) governance.Ballot {
	return governance.Ballot{ExportedBallot: governance.ExportedBallot{VotingPower: power}}
}

// summed returns the summary of ballots for and against.
func summed(power governance.Decimal, choices ...governance.ChoiceTotal) governance.VoteSummary {
	return governance.VoteSummary{Totals: &governance.VoteTotals{VotingPower: power}, Choices: choices}
}

func closedVote(provider governance.Provider) governance.ProposalDetail {
	return governance.ProposalDetail{
		Identity: governance.Identity{Provider: provider}, LifecycleStatus: governance.Closed, StartAt: new(voteBegins), EndAt: new(voteEnds),
	}
}

func TestCurveEndsAtTheExactSums(t *testing.T) {
	t.Parallel()
	ballots := []governance.Ballot{
		vote("for", "0.000000000000000001", 950), vote("against", "12345678901234567890.5", 100),
		vote("for", "99999999999999999999.999999999999999999", 0), vote("for", "1", 1000), vote("", "7", 500),
		undated("3"),
	}
	got := explore.NewCurve(closedVote(governance.Snapshot), summed("200000000000000000000", governance.ChoiceTotal{Key: "for", Label: "Yes"}), ballots, voteEnds)
	var labels []string
	for _, line := range got.Lines {
		labels = append(labels, line.Label)
	}
	if want := []string{"Yes", "choice against", "several choices"}; !slices.Equal(labels, want) {
		t.Errorf("lines: got %q, want %q", labels, want)
	}
	last := got.Rows[len(got.Rows)-1]
	if want := []governance.Decimal{"100000000000000000001", "12345678901234567890.5", "7"}; last.At != voteEnds || !slices.Equal(last.Values, want) {
		t.Errorf("at the end: got %d %v, want %d %v", last.At, last.Values, voteEnds, want)
	}
	if first, want := got.Rows[0].Values, []governance.Decimal{"99999999999999999999.999999999999999999", "0", "0"}; !slices.Equal(first, want) {
		t.Errorf("after a tenth: got %v, want %v", first, want)
	}
	if got.Power != "112345678901234567898.5" || got.Share != "56.17%" || got.Ballots != 5 || got.Undated != 1 {
		t.Errorf("got %d ballots of %s, %s, %d without a time; want 5 of 112345678901234567898.5, 56.17%%, 1", got.Ballots, got.Power, got.Share, got.Undated)
	}
}

func TestCurveOfAVoteUnderWayEndsWithItsData(t *testing.T) {
	t.Parallel()
	proposal := closedVote(governance.Snapshot)
	proposal.LifecycleStatus = governance.Active
	got := explore.NewCurve(proposal, summed("5"), []governance.Ballot{vote("1", "5", 300)}, voteBegins+500_000)
	if got.Drawn != voteBegins+500_000 || len(got.Rows) != 5 || !strings.HasSuffix(got.Lines[0].Path, "H484") {
		t.Errorf("got lines until %d, %d rows and %s; want the half of the drawing", got.Drawn, len(got.Rows), got.Lines[0].Path)
	}
}

func TestCurveHasBoundedSize(t *testing.T) {
	t.Parallel()
	var ballots []governance.Ballot
	for i := range 2000 {
		ballots = append(ballots, vote(fmt.Sprint(i%40+1), governance.Decimal(fmt.Sprint(i+1)), i%1000))
	}
	got := explore.NewCurve(closedVote(governance.Snapshot), summed("2001000"), ballots, voteEnds)
	total := decimal.Zero
	for _, value := range got.Rows[len(got.Rows)-1].Values {
		total = total.Add(explore.Number(value))
	}
	if len(got.Lines) != 6 || got.Lines[5].Label != "all other choices" || total.String() != "2001000" {
		t.Errorf("got %d lines that sum to %s, the last is %q; want 6 of 2001000, the last of all other choices", len(got.Lines), total, got.Lines[len(got.Lines)-1].Label)
	}
	for _, line := range got.Lines {
		if len(line.Path) > 4000 {
			t.Errorf("the drawing of %s has %d bytes, want at most 4000", line.Label, len(line.Path))
		}
	}
}

func TestCurveOfOddTimes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		proposal governance.ProposalDetail
		ballots  []governance.Ballot
		drawn    bool
	}{
		"no ballot":                   {closedVote(governance.Snapshot), nil, false},
		"no ballot with a time":       {closedVote(governance.Snapshot), []governance.Ballot{undated("1")}, false},
		"outside of the stated times": {closedVote(governance.Snapshot), []governance.Ballot{vote("1", "1", -500), vote("1", "2", 9000)}, true},
		"no stated times":             {governance.ProposalDetail{}, []governance.Ballot{vote("1", "1", 0), vote("1", "2", 900)}, true},
		"one moment":                  {governance.ProposalDetail{}, []governance.Ballot{vote("1", "3", 0)}, true},
		"an end before the beginning": {governance.ProposalDetail{StartAt: new(voteEnds), EndAt: new(voteBegins)}, []governance.Ballot{vote("1", "3", 10)}, true},
		"power zero":                  {closedVote(governance.Snapshot), []governance.Ballot{vote("1", "0", 10)}, true},
		"under way, beyond its end":   {governance.ProposalDetail{LifecycleStatus: governance.Active, EndAt: new(voteEnds)}, []governance.Ballot{vote("1", "3", 2000)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := explore.NewCurve(test.proposal, summed("3"), test.ballots, voteEnds)
			if (got != nil) != test.drawn {
				t.Fatalf("got %+v, want drawn %t", got, test.drawn)
			}
			if got == nil {
				return
			}
			sum := decimal.Zero
			for _, ballot := range test.ballots {
				sum = sum.Add(explore.Number(ballot.VotingPower))
			}
			env.Want(t, governance.DecimalOf(sum), got.Rows[len(got.Rows)-1].Values[0], "at the end", sum)
		})
	}
}

// TestQuorumIsDrawnWhereItAgreesWithTheAPI checks that a quorum in a unit or with a rule that
// the page does not know is left out.
func TestQuorumIsDrawnWhereItAgreesWithTheAPI(t *testing.T) {
	t.Parallel()
	ballots := []governance.Ballot{vote("for", "3", 100), vote("against", "5", 200), vote("abstain", "1", 900)}
	summary := summed("9", governance.ChoiceTotal{Key: "for", VotingPower: "3"}, governance.ChoiceTotal{Key: "against", VotingPower: "5"}, governance.ChoiceTotal{Key: "abstain", VotingPower: "1"})
	for name, test := range map[string]struct {
		provider governance.Provider
		quorum   *governance.Quorum
		want     governance.Decimal
		counted  governance.Decimal
	}{
		"Snapshot":     {governance.Snapshot, &governance.Quorum{Raw: "18", Progress: "0.5"}, "18", "9"},
		"a Governor":   {governance.Tally, &governance.Quorum{Raw: "8000000000000000000", Progress: "0.5"}, "8", "4"},
		"another rule": {governance.Tally, &governance.Quorum{Raw: "8000000000000000000", Progress: "0.375"}, "", ""},
		"another unit": {governance.Snapshot, &governance.Quorum{Raw: "18000000", Progress: "0.5"}, "", ""},
		"zero":         {governance.Snapshot, &governance.Quorum{Raw: "0", Progress: "1", Reached: new(true), Type: governance.QuorumOfApproval}, "", ""},
		"no number":    {governance.Snapshot, &governance.Quorum{Raw: "many", Progress: "0.5"}, "", ""},
		"none":         {governance.Snapshot, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			summary := summary
			summary.Quorum = test.quorum
			got := explore.NewCurve(closedVote(test.provider), summary, ballots, voteEnds)
			if got.Quorum != test.want || (got.Counted != nil) != (test.want != "") {
				t.Fatalf("quorum: got %q, counted %v, want %q", got.Quorum, got.Counted, test.want)
			}
			last := got.Rows[len(got.Rows)-1].Values
			if got.Counted != nil && last[len(last)-1] != test.counted {
				t.Errorf("counted: got %s, want %s", last[len(last)-1], test.counted)
			}
		})
	}
}

func TestNumbersAreCutForReading(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "7": "7", "1234": "1,234", "999999": "999,999", "999999.999999": "999,999.99",
		"1000000": "1M", "1234567.5": "1.23M", "12345678901": "12.34B", "9999999999999": "9.99T", "12345678901234567890": "12,345,678.9T",
		"0.5": "0.5", "0.123456789": "0.1234", "0.0001": "0.0001", "0.00009": "< 0.0001", "0.000000000000000001": "< 0.0001",
		"3.001": "3", "3.019": "3.01", "100.10": "100.1", "0.0": "0",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			env.Want(t, want, explore.Short(text))
		})
	}
}

// The amount of a token without a symbol is in units where its decimals are known.
func TestTokensAreNamed(t *testing.T) {
	t.Parallel()
	const at, brief = "0x00000000000000000000000000000000000000b2", "0x000000…0000b2"
	one := governance.Decimal("1")
	for want, of := range map[string]governance.DossierTransfer{
		"native money":                        {Symbol: new("native"), Decimals: new(18), Amount: &one},
		"USDC":                                {Token: new(at), Symbol: new("USDC"), Decimals: new(6), Amount: &one},
		brief:                                 {Token: new(at), Decimals: new(6), Amount: &one},
		"smallest units of " + brief:          {Token: new(at), Amount: &one},
		"a token that the call does not name": {Token: new("unstated")},
	} {
		env.Want(t, want, explore.TokenOf(of))
	}
}

func TestSharesAreExactUntilTheyAreCut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		part, total governance.Decimal
		want        string
	}{
		"half":                 {"1", "2", "50%"},
		"a third, not rounded": {"2", "3", "66.66%"},
		"almost all":           {"99999999999999999999.999999999999999999", "100000000000000000000", "99.99%"},
		"all":                  {"0.000000000000000003", "0.000000000000000003", "100%"},
		"almost nothing":       {"0.000000000000000001", "1000000", "< 0.01%"},
		"nothing":              {"0", "5", "0%"},
		"of nothing":           {"0", "0", "0%"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env.Want(t, test.want, explore.Percent(explore.Number(test.part), explore.Number(test.total)))
		})
	}
}

func TestAnEndToComeHasNotPassed(t *testing.T) {
	t.Parallel()
	past, coming := governance.TimestampOf(time.Now().Add(-time.Hour)), governance.TimestampOf(time.Now().Add(time.Hour))
	env.Want(t, "ends", explore.Ends(governance.Active, &coming))
	env.Want(t, "ended", explore.Ends(governance.Closed, &past))
	env.Want(t, "ended", explore.Ends(governance.Closed, nil))
	env.Want(t, "was to end", explore.Ends(governance.Closed, &coming), "canceled before")
}
