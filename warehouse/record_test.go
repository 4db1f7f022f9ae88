package warehouse_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

func TestRecordsOfSeveralKindsAreOneBatch(t *testing.T) {
	t.Parallel()
	w := open(t)
	proposal := &record.Proposal{ProposalRef: ref("p"), SourceID: "space.eth"}
	topic := &record.Topic{Host: "forum.a.org", ExternalID: "1"}
	counts := appendAll(t, w, ballot("p", "0xa", "v1", "1", "1", nil), topic, proposal, ballot("q", "0xa", "v1", "1", "1", nil))
	if want := (warehouse.Counts{New: 4}); counts != want {
		t.Errorf("got %+v, want %+v", counts, want)
	}
	batches, err := w.CommittedBatches(t.Context(), time.Now().Add(-time.Minute))
	if err != nil || len(batches) != 1 {
		t.Fatalf("got %d batches (%v), want one", len(batches), err)
	}
	want := map[record.RefHash]bool{ref("p").Hash(): true, ref("q").Hash(): true}
	if diff := cmp.Diff(want, batches[0].Changes.Proposals); diff != "" {
		t.Errorf("changed proposals (-want +got):\n%s", diff)
	}
	if len(batches[0].Changes.Sources) != 1 {
		t.Errorf("got sources %v, want the forum", batches[0].Changes.Sources)
	}
}

// A crash after the insert of the proposals, and before that of the ballots.
func TestBatchThatEndsBetweenTwoKindsIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	conn := raw(t, url)
	if err := conn.Exec(t.Context(), "ALTER TABLE ballots ADD CONSTRAINT crash CHECK 0"); err != nil {
		t.Fatal(err)
	}
	records := []record.Record{
		ballot("p", "0xa", "v1", "1", "1", nil), &record.Proposal{ProposalRef: ref("p"), SourceID: "space.eth"},
	}
	if _, err := w.Append(t.Context(), newRun(), records); err == nil {
		t.Fatal("got no error, want that of the ballots")
	}
	if batches, err := w.CommittedBatches(t.Context(), time.Now().Add(-time.Minute)); err != nil || len(batches) != 0 {
		t.Fatalf("got %d batches (%v), want none: the ballots are missing", len(batches), err)
	}
	if err := conn.Exec(t.Context(), "ALTER TABLE ballots DROP CONSTRAINT crash"); err != nil {
		t.Fatal(err)
	}
	if got, want := appendAll(t, w, records...), (warehouse.Counts{New: 1, Unchanged: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	batches, err := w.CommittedBatches(t.Context(), time.Now().Add(-time.Minute))
	if err != nil || len(batches) != 1 || !batches[0].Changes.Proposals[ref("p").Hash()] {
		t.Errorf("got %+v (%v), want one batch with the proposal", batches, err)
	}
	if got := tally(t, w, "p"); got.Votes != 1 {
		t.Errorf("got %d votes, want one", got.Votes)
	}
}
