package warehouse_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// TestChoicesWithoutNumbersHaveZerosForEarlierVersions stores what is not known of choices: an
// earlier version reads as many votes and powers as there are keys.
func TestChoicesWithoutNumbersHaveZerosForEarlierVersions(t *testing.T) {
	t.Parallel()
	url := env.DatabaseURL(t)
	w := openAt(t, warehouse.Options{URL: url})
	choices := []governance.Choice{{Key: "1", Label: "A"}, {Key: "2", Label: "B"}}
	scores := []governance.Score{{Votes: 3, Power: decimal.New(5, 0)}, {Votes: 1, Power: decimal.New(2, 0)}}
	unstated := []governance.Score{{Power: decimal.New(5, 0)}, {Power: decimal.New(2, 0)}}
	states := []warehouse.ProposalState{
		{Ref: record.RefHash{1}, Choices: choices, Scores: scores, HasChoiceVotes: true, Revision: 1},
		{Ref: record.RefHash{2}, Choices: choices, Scores: unstated, Revision: 1},
		{Ref: record.RefHash{3}, Choices: choices, HasChoiceVotes: true, Revision: 1},
	}
	if err := w.WriteProposalStates(t.Context(), states); err != nil {
		t.Fatal(err)
	}
	got, err := w.PublishedStates(t.Context(), []record.RefHash{{1}, {2}, {3}})
	if err != nil || len(got) != len(states) {
		t.Fatalf("got %d states: %v", len(got), err)
	}
	for i, s := range got {
		if diff := cmp.Diff(states[i].Scores, s.Scores); diff != "" || s.HasChoiceVotes != (i == 0) {
			t.Errorf("state %d: got votes by choice %t, and (-want +got):\n%s", i, s.HasChoiceVotes, diff)
		}
	}
	lengths := env.Column(t, env.ConnectWarehouse(t, url), "SELECT DISTINCT toString((length(choice_votes), length(choice_powers))) FROM proposal_states")
	if !cmp.Equal(lengths, []string{"(2,2)"}) {
		t.Errorf("got %v votes and powers, want as many as there are keys", lengths)
	}
}
