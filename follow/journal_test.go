package follow_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/follow"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

func TestCursorsOutliveTheJournal(t *testing.T) {
	t.Parallel()

	opened := env.Warehouse(t)
	journal, err := follow.OpenJournal(t.Context(), opened, "eip155:1", nil)
	if err != nil {
		t.Fatal(err)
	}
	source := record.SourceRef{Provider: governance.Governor, ID: "eip155:1:0xabc"}
	cursor := journal.Cursor(source, "backfill")
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	cursor.Position, cursor.State, cursor.UpstreamAt = `{"number":7}`, warehouse.FollowBackfilling, &at
	cursor.Covered = []warehouse.Interval{{First: 1, Last: 5}, {First: 9, Last: 12}}
	space := &record.Source{SourceRef: source, Name: "Harbor"}
	counts, err := journal.Commit(t.Context(), []record.Record{space}, cursor)
	if err != nil {
		t.Fatal(err)
	}
	if counts.New != 1 {
		t.Errorf("got %+v, want one new record", counts)
	}
	again, err := follow.OpenJournal(t.Context(), opened, "eip155:1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cursor, again.Cursor(source, "backfill")); diff != "" {
		t.Error(diff)
	}
}
