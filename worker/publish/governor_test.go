package publish

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const governorID = "eip155:1:0x21df544947ba3e8b3c32561399e88b52dc8b28aa"

// chainProposal returns a closed proposal that was read from a chain.
func chainProposal(state string, change func(*record.Proposal)) records.Proposal {
	return snapshotProposal(func(p *record.Proposal) {
		p.Provider, p.SourceID, p.ExternalID, p.State = governance.Governor, governorID, governorID+"/85", state
		if change != nil {
			change(p)
		}
	})
}

func TestGovernorStatesDecideTheOutcome(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]governance.Outcome{
		"pending": governance.Unknown, "active": governance.Unknown, "canceled": governance.Canceled,
		"defeated": governance.Failed, "succeeded": governance.Passed, "queued": governance.Passed,
		"expired": governance.Failed, "executed": governance.Executed, "": governance.Unknown,
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			e := evaluate(chainProposal(state, nil), "dao", ballots{}, now)
			if e.outcome != want || e.lifecycle != governance.Closed {
				t.Errorf("got %s and %s, want %s and closed", e.outcome, e.lifecycle, want)
			}
		})
	}
}

func TestGovernorQuorumIsCountedByTheProposalsRule(t *testing.T) {
	t.Parallel()
	votes := counted(map[string]string{"for": "10", "against": "4", "abstain": "2.000000000000000001"})
	for name, c := range map[string]struct {
		choices []string
		want    governance.Quorum
		outcome governance.Outcome
	}{
		"the provider's rule": {nil, governance.Quorum{Raw: "12", Progress: "1", Reached: new(true), Type: governance.QuorumOfApproval}, governance.Passed},
		"for and abstain":     {[]string{"for", "abstain"}, governance.Quorum{Raw: "12", Progress: "1", Reached: new(true), Type: governance.QuorumOfApproval}, governance.Passed},
		"for alone":           {[]string{"for"}, governance.Quorum{Raw: "12", Progress: "0.833333", Reached: new(false), Type: governance.QuorumOfApproval}, governance.Failed},
		"all":                 {[]string{"for", "against", "abstain"}, governance.Quorum{Raw: "12", Progress: "1.333333", Reached: new(true), Type: governance.QuorumOfApproval}, governance.Passed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := evaluate(chainProposal("", func(p *record.Proposal) {
				p.QuorumRaw, p.Quorum, p.QuorumChoices = "12", power("12"), c.choices
			}), "dao", votes, now)
			if diff := cmp.Diff(&c.want, e.summary().Quorum); diff != "" {
				t.Errorf("quorum (-want +got):\n%s", diff)
			}
			if e.outcome != c.outcome {
				t.Errorf("got outcome %s, want %s", e.outcome, c.outcome)
			}
		})
	}
}

func TestVoteWithDividedBallotsIsDecidedOnAGovernorAlone(t *testing.T) {
	t.Parallel()
	weighted := func(p *record.Proposal) { p.VoteType, p.Quorum = governance.Weighted, power("3") }
	for name, c := range map[string]struct {
		proposal records.Proposal
		votes    map[string]string
		want     governance.Outcome
	}{
		"for wins on a Governor":     {chainProposal("", weighted), map[string]string{"for": "5", "against": "4"}, governance.Passed},
		"against wins on a Governor": {chainProposal("", weighted), map[string]string{"for": "4", "against": "5"}, governance.Failed},
		"equal on a Governor":        {chainProposal("", weighted), map[string]string{"for": "5", "against": "5"}, governance.Failed},
		"on Snapshot":                {snapshotProposal(weighted), map[string]string{"1": "5", "2": "4"}, governance.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := evaluate(c.proposal, "dao", counted(c.votes), now).outcome; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestProvisionalProposalIsFlagged(t *testing.T) {
	t.Parallel()
	for _, provisional := range []bool{true, false} {
		e := evaluate(chainProposal("active", func(p *record.Proposal) { p.Provisional = provisional }), "dao", ballots{}, now)
		if got := slices.Contains(e.flags, rules.Provisional); got != provisional {
			t.Errorf("provisional %t: got flags %v", provisional, e.flags)
		}
	}
}

func TestProvenanceNamesBlockOrMessage(t *testing.T) {
	t.Parallel()
	votes := counted(map[string]string{"for": "2"})
	block, message := "eip155:1 block 19000000 0x6b27", "hub.snapshot.org message 0xf833"
	for name, c := range map[string]struct {
		proposal records.Proposal
		source   string
		want     *string
	}{
		"a block": {
			chainProposal("executed", func(p *record.Proposal) { p.Origin = block }), governorID + "/proposals/85", &block,
		},
		"a message": {snapshotProposal(func(p *record.Proposal) { p.Origin = message }), "dao.eth/proposals/0x1", &message},
		"a file":    {snapshotProposal(nil), "dao.eth/proposals/0x1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for field, got := range sources(c.proposal, votes) {
				want := c.want
				if strings.HasSuffix(got.Source, "/votes") {
					want = nil
				}
				if diff := cmp.Diff(want, got.Origin); diff != "" || !strings.HasPrefix(got.Source, c.source) {
					t.Errorf("%s: got source %q, want %s…; origin (-want +got):\n%s", field, got.Source, c.source, diff)
				}
			}
		})
	}
}

func TestContractsOwnSumsAreComparedWithBallots(t *testing.T) {
	t.Parallel()
	votes := counted(map[string]string{"for": "10", "against": "3", "abstain": "2"})
	for name, c := range map[string]struct {
		scores []string
		differ bool
	}{
		"equal":        {[]string{"10", "3", "2"}, false},
		"a vote lacks": {[]string{"10", "4", "2"}, true},
		"not stated":   {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := evaluate(chainProposal("executed", func(p *record.Proposal) {
				for _, score := range c.scores {
					p.StatedScores = append(p.StatedScores, *power(score))
				}
			}), "dao", votes, now)
			flagged := slices.Contains(e.flags, rules.TotalsDifferUpstream)
			warned := slices.ContainsFunc(e.conflicts, func(w governance.Warning) bool { return w.Code == rules.ScoresDiffer })
			if flagged != c.differ || warned != c.differ {
				t.Errorf("got flags %v and warnings %v, want both: %t", e.flags, e.conflicts, c.differ)
			}
		})
	}
}
