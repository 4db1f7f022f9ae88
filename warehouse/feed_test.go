package warehouse_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// The engine cuts zeros off the end where it makes a text of a reference.
func TestRecordedTypesOfAReferenceThatEndsInZero(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := ""
	for n := 0; id == ""; n++ {
		if hash := ref(fmt.Sprint(n)).Hash(); hash[len(hash)-1] == 0 {
			id = fmt.Sprint(n)
		}
	}
	about := ref(id)
	appendAll(t, w, &record.Event{ID: "e", Type: "voting_ended", DAOID: "dao", ItemType: "proposal", Proposal: &about, Confidence: "exact"})
	types, err := w.RecordedTypes(t.Context(), []record.RefHash{about.Hash()})
	if err != nil || len(types) != 1 {
		t.Errorf("got %v (%v), want the recorded type", types, err)
	}
}

// A vote is part of the usual turnout of those after it while it is complete and was not
// canceled: these are to be derived again also when it is not any more.
func TestLaterVotesOfAVoteThatLeavesTheUsualTurnout(t *testing.T) {
	t.Parallel()
	w := open(t)
	var states []warehouse.ProposalState
	for n := range 12 {
		states = append(states, warehouse.ProposalState{
			Ref: ref(fmt.Sprint(n)).Hash(), Votes: 30, Power: decimal.Zero, Revision: 1, SourceID: "dao.eth",
			Identity:  governance.Identity{DAOID: "dao", Provider: governance.Snapshot, ExternalID: fmt.Sprint(n)},
			Lifecycle: governance.Closed, Coverage: governance.Complete, VoteReady: true,
			EndAt: new(governance.Timestamp(1_000 * (n + 1))),
		})
	}
	if err := w.WriteProposalStates(t.Context(), states); err != nil {
		t.Fatal(err)
	}
	for name, leave := range map[string]func(*warehouse.ProposalState){
		"it stays":            func(*warehouse.ProposalState) {},
		"ballots are missing": func(s *warehouse.ProposalState) { s.Coverage = governance.Partial },
		"it is canceled":      func(s *warehouse.ProposalState) { s.Outcome = governance.Canceled },
		"it has no result":    func(s *warehouse.ProposalState) { s.VoteReady = false },
		"it is active again":  func(s *warehouse.ProposalState) { s.Lifecycle = governance.Active },
		"it is withdrawn":     func(s *warehouse.ProposalState) { s.Identity.DAOID, s.WithdrawnFrom = "", "dao" },
	} {
		t.Run(name, func(t *testing.T) {
			left := states[0]
			states[0].Revision++
			left.Revision = states[0].Revision
			leave(&left)
			if err := w.WriteProposalStates(t.Context(), []warehouse.ProposalState{left}); err != nil {
				t.Fatal(err)
			}
			later, err := w.LaterVotes(t.Context(), []record.RefHash{left.Ref})
			if err != nil {
				t.Fatal(err)
			}
			for n := 1; n < 12; n++ {
				found := slices.ContainsFunc(later, func(p warehouse.ProposalSize) bool { return p.Ref == states[n].Ref })
				if want := n <= 10; found != want {
					t.Errorf("vote %d after it: got %t, want %t", n, found, want)
				}
			}
		})
	}
}
