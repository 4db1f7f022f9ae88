package governance_test

import (
	"testing"

	"pnyx/governance"
)

func TestWordsForTheStateOfAVote(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"active", "pending", "extended", "submitted"} {
		if !governance.IsOpenState(word) || governance.IsVoteOver(word, "") {
			t.Errorf("%s: got over, want open", word)
		}
	}
	for word, want := range map[string]governance.Outcome{
		"callexecuted": governance.Executed, "crosschainexecuted": governance.Executed, "pendingexecution": governance.Passed,
		"expired": governance.Failed, "canceled": governance.Canceled,
	} {
		if got, known := governance.Tally.StatedOutcome(word, ""); !known || got != want || !governance.IsVoteOver(word, "") {
			t.Errorf("%s: got %s, want %s and over", word, got, want)
		}
	}
	if got, known := governance.Tally.StatedOutcome("archived", ""); known || !governance.IsVoteOver("archived", "") {
		t.Errorf("archived: got %s, want it over and decided by its ballots", got)
	}
	const strange = "crosschainqueued2"
	if got, known := governance.Tally.StatedOutcome(strange, ""); known || governance.IsVoteOver(strange, "") ||
		governance.IsOpenState(strange) || governance.IsKnownState(strange) {
		t.Errorf("%s: got %s, want a word that decides nothing", strange, got)
	}
	if !governance.IsKnownState("") || governance.IsOpenState("") {
		t.Error("no word is not taken for none")
	}
}
