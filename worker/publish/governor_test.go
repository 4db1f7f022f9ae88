package publish

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/governance"
	"pnyx/test/env"
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
	for choices, want := range map[string]string{
		"": "1 true passed", "for,abstain": "1 true passed", "for": "0.833333 false failed", "against": "0.333333 false failed",
		"for,against,abstain": "1.333333 true passed",
	} {
		t.Run(choices, func(t *testing.T) {
			t.Parallel()
			e := evaluate(chainProposal("", func(p *record.Proposal) {
				if p.QuorumRaw, p.Quorum = "12", power("12"); choices != "" {
					p.QuorumChoices = strings.Split(choices, ",")
				}
			}), "dao", votes, now)
			q := e.summary().Quorum
			if got := fmt.Sprint(q.Progress, " ", *q.Reached, " ", e.outcome); got != want || q.Raw != "12" || q.Type != governance.QuorumOfApproval {
				t.Errorf("got %s of %+v, want %s", got, q, want)
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
			env.Want(t, c.want, evaluate(c.proposal, "dao", counted(c.votes), now).outcome)
		})
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
