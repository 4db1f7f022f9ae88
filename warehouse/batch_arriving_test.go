package warehouse_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

func TestArrivingRecordsAreThoseOfOpenAndLaterBatches(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	ref := record.ProposalRef{Provider: governance.Snapshot, ExternalID: "a"}
	space := record.SourceRef{Provider: governance.Snapshot, ID: "space"}
	p := &record.Proposal{ProposalRef: ref, SourceID: space.ID, Title: "A", VoteType: governance.SingleChoice, Choices: []string{"Yes"}}
	before := time.Now().Add(-time.Hour)
	if _, err := w.Append(t.Context(), warehouse.Import{ID: uuid.New(), ObservedAt: before}, []record.Record{p}); err != nil {
		t.Fatal(err)
	}
	arriving := func(since time.Time, refs []record.RefHash, sources ...record.SourceRef) bool {
		t.Helper()
		found, err := w.Arriving(t.Context(), refs, sources, since)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	later := time.Now().Add(time.Hour)
	if !arriving(before, []record.RefHash{ref.Hash()}) || !arriving(before, nil, space) {
		t.Error("records committed later do not arrive")
	}
	other := record.SourceRef{Provider: governance.Snapshot, ID: "other"}
	if arriving(before, nil, other) || arriving(later, []record.RefHash{ref.Hash()}, space) {
		t.Error("records of others, or committed before, arrive")
	}
	hash := ref.Hash()
	if err := raw(t, url).Exec(t.Context(), "INSERT INTO batches (batch_id, import_id, sealed, proposals) VALUES (generateUUIDv4(), generateUUIDv4(), 0, [?])",
		string(hash[:])); err != nil {
		t.Fatal(err)
	}
	if !arriving(later, nil, space) {
		t.Error("records of an open batch do not arrive")
	}
}
