package warehouse_test

import (
	"fmt"
	"testing"

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
