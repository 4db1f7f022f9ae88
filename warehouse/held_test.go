package warehouse_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// TestHeldIsWhatIsNotWithdrawn writes a ballot that is withdrawn, one that is replaced by
// its voter, and one that stands.
func TestHeldIsWhatIsNotWithdrawn(t *testing.T) {
	t.Parallel()

	w := env.Warehouse(t)
	end, votes := governance.Timestamp(1_772_700_000_000), uint64(3)
	ref := record.ProposalRef{Provider: governance.Snapshot, ExternalID: "0xab"}
	proposal := &record.Proposal{ProposalRef: ref, SourceID: "harbor.eth", EndAt: &end, StatedVotes: &votes, State: "closed", Origin: "message 1"}
	ballot := func(voter, id string) *record.Ballot {
		at := governance.Timestamp(1_772_600_000_000)
		return &record.Ballot{
			Proposal: ref, Voter: voter, VoteID: id, Power: decimal.RequireFromString("7.5"), Choices: []string{"1"}, ChoiceKey: "1",
			RawChoice: "1", VotedAt: &at, Reason: "why not",
		}
	}
	write := func(records ...record.Record) {
		t.Helper()
		if _, err := w.Append(t.Context(), warehouse.Import{ID: uuid.New(), ObservedAt: time.Now()}, records); err != nil {
			t.Fatal(err)
		}
	}
	write(proposal, ballot("0xada", "v1"), ballot("0xada", "v2"), ballot("0xbo", "v3"), ballot("0xcy", "v4"))
	gone := ballot("0xcy", "v4")
	gone.Withdrawn = true
	write(gone)

	var held []record.Ballot
	err := w.HeldBallots(t.Context(), ref, func(b record.Ballot) error {
		held = append(held, b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, b := range held {
		ids = append(ids, b.VoteID)
	}
	if diff := cmp.Diff([]string{"v1", "v2", "v3"}, ids); diff != "" {
		t.Error(diff)
	}
	want := *ballot("0xada", "v1")
	want.Shares, want.Roots = []decimal.Decimal{}, []decimal.Decimal{}
	if diff := cmp.Diff(want, held[0]); diff != "" {
		t.Errorf("the record as written: %s", diff)
	}
	voters, err := w.HeldVoters(t.Context(), []record.RefHash{ref.Hash()})
	if err != nil || voters[ref.Hash()] != 2 {
		t.Errorf("got %v %v, want two voters", voters, err)
	}

	list := func(after time.Time) []warehouse.HeldProposal {
		t.Helper()
		proposals, err := w.HeldProposals(t.Context(), governance.Snapshot, []string{"other.eth", "harbor.eth"}, after)
		if err != nil {
			t.Fatal(err)
		}
		return proposals
	}
	wanted := []warehouse.HeldProposal{{ProposalRef: ref, SourceID: "harbor.eth", EndAt: &end, StatedVotes: &votes, Origin: "message 1"}}
	if diff := cmp.Diff(wanted, list(time.Time{})); diff != "" {
		t.Error(diff)
	}
	if got := list(end.Time().Add(time.Second)); len(got) != 0 {
		t.Errorf("got %v, want none that ends after the end", got)
	}
	proposal.Withdrawn = true
	write(proposal)
	wanted[0].Withdrawn = true
	if diff := cmp.Diff(wanted, list(end.Time())); diff != "" {
		t.Error(diff)
	}
}
