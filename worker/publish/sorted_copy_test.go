package publish

import (
	"slices"
	"testing"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/pages"
)

// TestACopyOfTheSameBallotsIsKept when everything is published again, as after a restart, unless its rows are gone.
func TestACopyOfTheSameBallotsIsKept(t *testing.T) {
	t.Parallel()
	l := newExportLab(t)
	renewed := func() (generations [2]uint64) {
		t.Helper()
		env.MustDo(t, l.publisher.buildSortedCopies(t.Context()))
		copies := env.Must(pages.CurrentSortedCopies(t.Context(), l.publisher.Warehouse))(t)
		if stale := env.Must(pages.StaleSortedCopies(t.Context(), l.publisher.Warehouse))(t); len(stale) != 0 || len(copies) != 2 {
			t.Fatalf("got copies %+v, of which %+v are stale, want two and none", copies, stale)
		}
		for i, kind := range []pages.SortedCopyKind{pages.BallotCopy, pages.VoterCopy} {
			generations[i] = copies[slices.IndexFunc(copies, func(c pages.SortedCopy) bool { return c.Kind == kind })].Generation
		}
		return generations
	}
	first := renewed()
	publishAgain := func() {
		l.flush()
		l.step()
	}
	publishAgain()
	before := l.changes(cache.ChangeID{}).Last
	env.WantSame(t, "generations after everything was published", first, renewed())
	published := governance.TimestampOfRevision(l.term.published.Revision)
	// As the next term does, in case this one has ended before.
	env.MustDo(t, l.publisher.announceCopies(t.Context(), env.Must(pages.CurrentSortedCopies(t.Context(), l.publisher.Warehouse))(t)...))
	for _, row := range l.changes(before).Rows {
		if row.ChangedAt != published || row.DAOID != "space-0" { // as of when answers with the change are
			t.Errorf("got %s of %q changed at %v, want of space-0, when it was published, at %v", row.Key, row.DAOID, row.ChangedAt, published)
		}
	}

	l.vote(1)
	second := renewed()
	if second[0] == first[0] || second[1] == first[1] {
		t.Errorf("got generations %d after a ballot, want none of %d", second, first)
	}

	publishAgain()
	for _, gone := range []string{"sorted_ballots", "sorted_voters"} {
		env.MustDo(t, l.publisher.Warehouse.Conn.Exec(t.Context(), "TRUNCATE TABLE "+gone))
	}
	if third := renewed(); third[0] == second[0] || third[1] == second[1] {
		t.Errorf("got generations %d after the rows of %d were gone", third, second)
	}
}
