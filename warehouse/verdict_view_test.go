package warehouse_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

func TestAnalystsReadWhatABallotMeans(t *testing.T) {
	t.Parallel()
	instance := env.SharedEngine(t)
	database := env.MigratedDatabase(t, instance)
	w := openAt(t, warehouse.Options{URL: instance.URL(database)})
	cast := func(proposal, id, raw string, choices ...string) *record.Ballot {
		b := ballot(proposal, "0x"+id, id, strings.Join(choices, ""), "10", nil)
		b.Choices, b.RawChoice = choices, raw
		return b
	}
	weighted := cast("weighted", "f", `{"1":3,"2":1}`, "1", "2")
	weighted.ChoiceKey, weighted.Shares = "1", []decimal.Decimal{decimal.RequireFromString("7.5"), decimal.RequireFromString("2.5")}
	appendAll(t, w, cast("basic", "a", "1", "1"), cast("basic", "b", "2", "2"), cast("basic", "c", "3", "3"), cast("basic", "d", "4", "4"),
		cast("basic", "e", "[1,2]", "1", "2"), cast("basic", "g", "0"), weighted, cast("ranked", "h", "[2]", "2"), cast("ranked", "i", "[2,1]", "2", "1"))
	state := func(id string, v governance.VoteType, labels ...string) warehouse.ProposalState {
		s := warehouse.ProposalState{Ref: ref(id).Hash(), Bounds: governance.Snapshot.ChoiceBounds(v, len(labels)), Revision: 1}
		s.Identity = governance.Identity{DAOID: "dao", Provider: governance.Snapshot, ExternalID: id}
		s.Key = s.Identity.ProposalKey()
		for i, label := range labels {
			s.Choices = append(s.Choices, governance.Choice{Key: governance.Snapshot.ChoiceKey(i), Label: label})
		}
		for _, verdict := range governance.Verdicts(v, s.Choices) {
			s.Verdicts = append(s.Verdicts, verdict.String())
		}
		return s
	}
	if err := w.WriteProposalStates(t.Context(), []warehouse.ProposalState{
		state("basic", governance.Basic, "Sí", "Hmm", "Ni idea"), state("weighted", governance.Weighted, "A", "B"), state("ranked", governance.RankedChoice, "A", "B"),
	}); err != nil {
		t.Fatal(err)
	}
	conn := env.ConnectWarehouse(t, instance.URL(warehouse.ViewsDatabase(database)))
	got := env.Column(t, conn, `SELECT concat(vote_id, ' ', ifNull(verdict, '-'), ' ', if(invalid, 'invalid', 'valid'), ' ', toString(choice_voting_powers))
		FROM ballots ORDER BY vote_id`)
	want := []string{
		"a for valid [10]", "b against valid [10]", "c abstain valid [10]", "d - invalid []", "e - invalid []", "f - valid [7.5,2.5]", "g - invalid []",
		"h - invalid []", "i - valid [10,10]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %s, want %s", fmt.Sprint(got), want)
	}
}

func TestAnalystsReadTheLargestAndTheLatestPowerOfAVoter(t *testing.T) {
	t.Parallel()
	instance := env.SharedEngine(t)
	database := env.MigratedDatabase(t, instance)
	w := openAt(t, warehouse.Options{URL: instance.URL(database)})
	early, late := governance.Timestamp(1000), governance.Timestamp(2000)
	appendAll(t, w, ballot("a", "0x1", "1", "1", "5", &late), ballot("b", "0x1", "2", "1", "7", &early), ballot("c", "0x1", "3", "1", "9", nil),
		ballot("a", "0x2", "4", "1", "3", nil))
	var states []warehouse.ProposalState
	for _, id := range []string{"a", "b", "c"} {
		s := warehouse.ProposalState{Ref: ref(id).Hash(), Revision: 1}
		s.Identity = governance.Identity{DAOID: "dao", Provider: governance.Snapshot, ExternalID: id}
		s.Key = s.Identity.ProposalKey()
		states = append(states, s)
	}
	if err := w.WriteProposalStates(t.Context(), states); err != nil {
		t.Fatal(err)
	}
	conn := env.ConnectWarehouse(t, instance.URL(warehouse.ViewsDatabase(database)))
	for _, view := range []string{"voters", "voter_daos"} {
		got := env.Column(t, conn, `SELECT concat(voter_identity, ' ', toString(largest_voting_power), ' ', ifNull(toString(latest_voting_power), '-'), ' ',
			toString(undated_votes)) FROM `+view+` ORDER BY voter_identity`)
		if want := []string{"0x1 9 5 1", "0x2 3 - 1"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %s, want %s", view, got, want)
		}
	}
}
