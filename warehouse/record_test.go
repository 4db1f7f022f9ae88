package warehouse_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestRecordsOfSeveralKindsAreOneBatch(t *testing.T) {
	t.Parallel()
	w := open(t)
	proposal := &record.Proposal{ProposalRef: ref("p"), SourceID: "space.eth"}
	topic := &record.Topic{Host: "forum.a.org", ExternalID: "1"}
	counts := appendAll(t, w, ballot("p", "0xa", "v1", "1", "1", nil), topic, proposal, ballot("q", "0xa", "v1", "1", "1", nil))
	env.Want(t, (records.Counts{New: 4}), counts)
	batches, err := records.CommittedBatches(t.Context(), w, time.Now().Add(-time.Minute))
	if err != nil || len(batches) != 1 {
		t.Fatalf("got %d batches (%v), want one", len(batches), err)
	}
	want := map[record.RefHash]bool{ref("p").Hash(): true, ref("q").Hash(): true}
	env.WantSame(t, "changed proposals", want, batches[0].Changes.Proposals)
	forum := record.SourceRef{Provider: governance.Discourse, ID: topic.Host}
	env.MustDo(t, records.MarkSynced(t.Context(), w, newRun(), record.KindTopic, []record.SourceRef{forum}, false))
	if batches, err = records.CommittedBatches(t.Context(), w, time.Now().Add(-time.Minute)); err != nil || len(batches) != 2 {
		t.Fatalf("got %d batches (%v), want the end of the import, too", len(batches), err)
	}
	for _, batch := range batches {
		if len(batch.Changes.Sources) != 1 || !batch.Changes.Sources[forum] {
			t.Errorf("got sources %v, want the forum", batch.Changes.Sources)
		}
	}
	env.Want(t, 0, len(env.Must(records.CommittedBatches(t.Context(), w, time.Now().Add(time.Minute)))(t)), "batches committed in the future")
}

// The insert of the proposals succeeds, the insert of the ballots does not: the batch is closed with
// what it has.
func TestBatchThatEndsBetweenTwoKindsIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	conn := raw(t, url)
	mustExec(t, conn, "INSERT INTO batches (batch_id, sealed) VALUES (generateUUIDv4(), 0)") // of an import that died
	mustExec(t, conn, "ALTER TABLE ballots ADD CONSTRAINT crash CHECK 0")
	all := []record.Record{
		ballot("p", "0xa", "v1", "1", "1", nil), &record.Proposal{ProposalRef: ref("p"), SourceID: "space.eth"},
	}
	if _, err := records.Append(t.Context(), w, newRun(), all); err == nil {
		t.Fatal("got no error, want that of the ballots")
	}
	env.Want(t, 1, env.Must(records.OpenBatches(t.Context(), w))(t), "open batches", "the other one alone")
	if batches, err := records.CommittedBatches(t.Context(), w, time.Now().Add(-time.Minute)); err != nil || len(batches) != 1 || !batches[0].Changes.Proposals[ref("p").Hash()] {
		t.Fatalf("got %+v (%v), want the one that failed", batches, err)
	}
	mustExec(t, conn, "ALTER TABLE ballots DROP CONSTRAINT crash")
	env.Want(t, records.Counts{New: 1, Unchanged: 1}, appendAll(t, w, all...))
	batches, err := records.CommittedBatches(t.Context(), w, time.Now().Add(-time.Minute))
	if err != nil || len(batches) != 2 || !batches[1].Changes.Proposals[ref("p").Hash()] {
		t.Errorf("got %+v (%v), want a second batch with the proposal", batches, err)
	}
	env.Want(t, 1, tally(t, w, "p").Votes, "votes")
}

// A batch that is sent in several blocks is stored as a whole or not at all, and the error says
// why, wherever in it the invalid ballot is.
func TestBatchOfManyBlocksIsStoredAsAWhole(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	conn := raw(t, url)
	stored := func() (ballots, parts uint64) {
		t.Helper()
		env.MustDo(t, conn.QueryRow(t.Context(), "SELECT count(), uniqExact(_part) FROM ballots").Scan(&ballots, &parts))
		return ballots, parts
	}
	const count = 2*records.MaxBlockRows + 1
	batch := make([]record.Record, count)
	for i := range batch {
		batch[i] = ballot("p", fmt.Sprintf("0x%05d", i), "v", "1", "1", nil)
	}
	for name, at := range map[string]int{"first": 0, "second": records.MaxBlockRows, "last": count - 1} {
		invalid := slices.Clone(batch)
		invalid[at] = ballot("p", "invalid", "v", "1", "1", nil)
		mustExec(t, conn, "ALTER TABLE ballots ADD CONSTRAINT valid CHECK voter != 'invalid'")
		if _, err := records.Append(t.Context(), w, newRun(), invalid); err == nil || errors.Is(err, warehouse.ErrUnreachable) {
			t.Errorf("%s block: got error %v, want that of the constraint", name, err)
		}
		mustExec(t, conn, "ALTER TABLE ballots DROP CONSTRAINT valid")
		invalid[at] = ballot("p", "0x", "v", "1", "1e70", nil) // more digits than the column has
		if _, err := records.Append(t.Context(), w, newRun(), invalid); err == nil || errors.Is(err, warehouse.ErrUnreachable) {
			t.Errorf("%s block: got error %v, want that of the driver", name, err)
		}
		if ballots, _ := stored(); ballots != 0 {
			t.Errorf("%s block: got %d ballots stored, want none", name, ballots)
		}
	}
	env.Want(t, records.Counts{New: count}, appendAll(t, w, batch...))
	if ballots, parts := stored(); ballots != count || parts != 1 {
		t.Errorf("got %d ballots in %d parts, want %d in one", ballots, parts, uint64(count))
	}
}

func TestArrivingRecordsAreThoseOfOpenAndLaterBatches(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	ref := record.ProposalRef{Provider: governance.Snapshot, ExternalID: "a"}
	space := record.SourceRef{Provider: governance.Snapshot, ID: "space"}
	p := &record.Proposal{ProposalRef: ref, SourceID: space.ID, Title: "A", VoteType: governance.SingleChoice, Choices: []string{"Yes"}}
	before := time.Now().Add(-time.Hour)
	env.Must(records.Append(t.Context(), w, records.Import{ID: uuid.New(), ObservedAt: before}, []record.Record{p}))(t)
	arriving := func(since time.Time, refs []record.RefHash, sources ...record.SourceRef) bool {
		t.Helper()
		return env.Must(records.Arriving(t.Context(), w, refs, sources, since))(t)
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
