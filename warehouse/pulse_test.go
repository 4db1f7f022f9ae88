package warehouse_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// A pulse that stays the same means that no table need be read. It must therefore change
// with every insert, also when a merge removes as many rows as were inserted.
func TestPulseChangesWithEveryCommit(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	conn := raw(t, url)
	pulse := func() warehouse.Pulse {
		t.Helper()
		p, err := w.Pulse(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	var told int
	w.OnCommit(func(context.Context) { told++ })
	run := records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
	source := func(id string) record.Record {
		return &record.Source{SourceRef: record.SourceRef{Provider: governance.Snapshot, ID: id}, Name: id}
	}
	commit := func(id string) {
		t.Helper()
		if _, err := records.Append(t.Context(), w, run, []record.Record{source(id)}); err != nil {
			t.Fatal(err)
		}
	}
	commit("a.eth")
	before := pulse()
	if again := pulse(); !again.Quiet(before) || again.Now.Before(before.Now) {
		t.Errorf("got %+v after %+v, want it to be quiet", again, before)
	}
	commit("b.eth")
	mustExec(t, conn, "OPTIMIZE TABLE batches FINAL")
	after := pulse()
	if after.Quiet(before) {
		t.Errorf("got %+v after a commit and a merge, want another than %+v", after, before)
	}
	if told != 2 {
		t.Errorf("told of %d commits, want 2", told)
	}
	mustExec(t, conn, "INSERT INTO token_revocations (token_id) VALUES ('a')")
	if got := pulse(); got.Quiet(after) {
		t.Errorf("got %+v after a revocation, want another than %+v", got, after)
	}
	if shared, err := w.Pulse(t.Context(), time.Hour); err != nil || shared.Quiet(after) {
		t.Errorf("got %+v, %v, want the last pulse that was read", shared, err)
	}
	if (warehouse.Pulse{}).Quiet(warehouse.Pulse{}) {
		t.Error("a warehouse that does not tell is quiet")
	}
}
