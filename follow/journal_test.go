package follow_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pnyx/follow"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func openJournal(t *testing.T, opened *warehouse.Warehouse) *follow.Journal {
	t.Helper()
	return env.Must(follow.OpenJournal(t.Context(), opened, "eip155:1", []record.SourceRef{{Provider: governance.Governor, ID: "eip155:1:0xabc"}}, nil))(t)
}

func TestCursorsOutliveTheJournal(t *testing.T) {
	t.Parallel()

	opened := env.Warehouse(t)
	journal := openJournal(t, opened)
	source := record.SourceRef{Provider: governance.Governor, ID: "eip155:1:0xabc"}
	cursor := journal.Cursor(source, "backfill")
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	cursor.Position, cursor.State, cursor.UpstreamAt = `{"number":7}`, governance.SourceBackfilling, &at
	cursor.Covered = []records.Interval{{First: 1, Last: 5}, {First: 9, Last: 12}}
	space := &record.Source{SourceRef: source, Name: "Harbor"}
	env.Want(t, 1, env.Must(journal.CommitCounted(t.Context(), []record.Record{space}, cursor))(t).New, "one new record")
	again := openJournal(t, opened)
	env.WantSame(t, "cursor", cursor, again.Cursor(source, "backfill"))
}

func TestPositionWithoutRecordsIsWrittenLater(t *testing.T) {
	t.Parallel()

	opened := env.Warehouse(t)
	journal := openJournal(t, opened)
	journal.Defer()
	move := func(position string, records ...record.Record) {
		t.Helper()
		cursor := journal.Cursor(record.SourceRef{}, "tip")
		cursor.Position = position
		env.MustDo(t, journal.Commit(t.Context(), records, cursor))
	}
	stored := func() string {
		t.Helper()
		return openJournal(t, opened).Cursor(record.SourceRef{}, "tip").Position
	}
	move("1")
	env.Want(t, "", stored(), "a position alone, which waits")
	env.MustDo(t, journal.Write(t.Context()))
	env.Want(t, "1", stored(), "the position, written with all others")
	move("2", &record.Source{SourceRef: record.SourceRef{Provider: governance.Governor, ID: "eip155:1:0xabc"}, Name: "Harbor"})
	env.Want(t, "2", stored(), "a position with records, written at once")
	env.Want(t, "2", journal.Cursor(record.SourceRef{}, "tip").Position, "in memory")
}

func TestRejectedItemsCountUntilTheyAreRead(t *testing.T) {
	t.Parallel()

	opened := env.Warehouse(t)
	journal := openJournal(t, opened)
	governor := record.SourceRef{Provider: governance.Governor, ID: "eip155:1:0xabc"}
	source := &record.Source{SourceRef: governor, Name: "Harbor"}
	commit := func(records ...record.Record) {
		t.Helper()
		env.MustDo(t, journal.Commit(t.Context(), records, journal.Cursor(governor, "tip")))
	}
	rejected := func(want uint64) {
		t.Helper()
		env.Want(t, want, env.Rejected(t, opened, governor), "rejected items")
	}
	journal.Reject(governor, governor.ID, errors.New("the name is a number"))
	journal.Reject(governor, "another", errors.New("it is no record"))
	commit()
	rejected(2)
	journal = openJournal(t, opened) // a restart
	commit(source)
	rejected(1)
	long := *source
	long.Name = strings.Repeat("n", 1<<20)
	commit(&long) // the name is left out
	rejected(2)
	source.Symbol = "HRB"
	commit(source)
	rejected(1)
}

func TestCommitLeavesHealthToTheFollower(t *testing.T) {
	t.Parallel()

	journal := openJournal(t, env.Warehouse(t))
	before := journal.Cursor(record.SourceRef{}, "tip")
	journal.Succeed(follow.Poller{Name: "tip"})
	before.Position = "1"
	env.MustDo(t, journal.Commit(t.Context(), nil, before))
	if journal.Cursor(record.SourceRef{}, "tip").SucceededAt == nil {
		t.Error("the time of the last success was lost")
	}
}
