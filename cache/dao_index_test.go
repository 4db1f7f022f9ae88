package cache_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	gocmp "github.com/google/go-cmp/cmp"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

func directoryClaims() []claim {
	return []claim{
		{"pages of any size walk every filter in order", pagesWalkEveryFilter},
		{"the directory is a miss until it is written", unwrittenDirectoryIsMiss},
		{"a filter that nothing fits has an empty page", emptyPage},
		{"a DAO moves to the filters that its row fits", membershipMoves},
		{"an older publication never replaces a row", olderNeverReplacesRow},
		{"an older publication never removes a row", olderNeverRemovesRow},
		{"the directory is as new as its newest row", directoryState},
		{"a page goes on after a DAO that is gone", pageAfterRemoval},
		{"a row that is lost makes the page unavailable", lostRowIsUnavailable},
		{"a list that is lost makes the page unavailable", lostListIsUnavailable},
		{"a row that does not decode is replaced by the next", brokenRowIsReplaced},
	}
}

// someDAOs are rows of every kind, with ids that sort, escape or read oddly.
func someDAOs() []governance.DAOListItem {
	ids := []string{
		"aave", "aave.eth", "Aave", "aa", "a", "a b", "a:b", "a{daos}", "{x}", "z", "Ζεύς", "民主", "%2F", "/", "+a", "(", "[a", "-a",
		"\"", "\\", "0", "10", "9", "uniswap", "~",
	}
	random := rand.New(rand.NewPCG(1, 2))
	rows := make([]governance.DAOListItem, len(ids))
	for i, id := range ids {
		rows[i] = governance.DAOListItem{
			DAOID: id, Name: "The " + id, HasVoteData: random.IntN(2) == 0, HasForumData: random.IntN(2) == 0,
			CoverageStatus: governance.Coverages()[random.IntN(4)],
			ProposalCounts: governance.ListCounts{Total: random.Uint64N(100)},
		}
	}
	return rows
}

func (t *bench) setDAOs(revision uint64, rows ...governance.DAOListItem) {
	t.Helper()
	head := cache.View{DataAsOf: governance.Timestamp(revision), Readiness: governance.Ready}
	t.publish(revision, func(w *cache.Writer) {
		for _, row := range rows {
			w.SetDAO(t.Context(), head, row)
		}
	})
}

// setRow writes a row past the store.
func (t *bench) setRow(id, value string) {
	t.Helper()
	env.MustDo(t, t.raw.HSet(t.Context(), string(cache.RowsKey), id, value).Err())
}

func (t *bench) removeDAO(revision uint64, id string) {
	t.Helper()
	head := cache.View{DataAsOf: governance.Timestamp(revision), Readiness: governance.Ready}
	t.publish(revision, func(w *cache.Writer) { w.RemoveDAO(t.Context(), head, id) })
}

// walk reads the ids under a filter, and checks that each page says whether another follows.
func (t *bench) walk(filter query.DAOs, limit int) []governance.DAOListItem {
	t.Helper()
	var all []governance.DAOListItem
	filter.Limit = limit
	for {
		page, err := t.store.DAOPage(t.Context(), filter)
		if err != nil {
			t.Fatalf("page of %d after %v: %v", limit, filter.After, err)
		}
		if len(page.Items) <= limit {
			return append(all, page.Items...)
		}
		if len(page.Items) != limit+1 {
			t.Fatalf("page of %d after %v: got %d items", limit, filter.After, len(page.Items))
		}
		all = append(all, page.Items[:limit]...)
		filter.After = new(filter.PositionOf(page.Items[limit-1]))
	}
}

func (t *bench) wantIDs(filter query.DAOs, want ...string) {
	t.Helper()
	got := []string{}
	for _, row := range t.walk(filter, 2) {
		got = append(got, row.DAOID)
	}
	env.WantSame(t, fmt.Sprintf("DAOs under %s", cache.ListKey(filter)), append([]string{}, want...), got)
}

func pagesWalkEveryFilter(t *bench) {
	rows := someDAOs()
	t.setDAOs(1, rows...)
	slices.SortFunc(rows, func(a, b governance.DAOListItem) int { return cmp.Compare(a.DAOID, b.DAOID) })
	for _, filter := range cache.AllFilters() {
		want := []governance.DAOListItem{}
		for _, row := range rows {
			if (filter.HasVoteData == nil || *filter.HasVoteData == row.HasVoteData) &&
				(filter.HasForumData == nil || *filter.HasForumData == row.HasForumData) &&
				(filter.Coverage == "" || filter.Coverage == row.CoverageStatus) {
				want = append(want, row)
			}
		}
		for _, limit := range []int{1, 3, len(want), len(rows), 100} {
			got := append([]governance.DAOListItem{}, t.walk(filter, max(1, limit))...)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("pages of %d under %s (-want +got):\n%s", limit, cache.ListKey(filter), diff)
			}
		}
	}
}

func unwrittenDirectoryIsMiss(t *bench) {
	check := func(when string) {
		_, err := t.store.DAOPage(t.Context(), query.DAOs{Paging: query.Paging[query.DAOPosition]{Limit: 10}})
		if !errors.Is(err, cache.ErrMiss) || errors.Is(err, cache.ErrUnavailable) {
			t.Errorf("%s: got %v, want %v", when, err, cache.ErrMiss)
		}
	}
	check("before the first row")
	t.setDAOs(1, governance.DAOListItem{DAOID: "a"})
	env.FlushRedis(t, t.raw)
	check("after a flush")
}

func emptyPage(t *bench) {
	t.setDAOs(1, governance.DAOListItem{DAOID: "a", HasVoteData: true, CoverageStatus: governance.Complete})
	no := false
	for name, page := range map[string]struct {
		filter query.DAOs
		after  *query.DAOPosition
	}{
		"nothing fits":      {filter: query.DAOs{HasVoteData: &no}},
		"no such coverage":  {filter: query.DAOs{Coverage: "unheard of"}},
		"nothing follows":   {after: new(query.DAOPosition("a"))},
		"nothing comes yet": {after: new(query.DAOPosition("b"))},
	} {
		page.filter.After, page.filter.Limit = page.after, 10
		got, err := t.store.DAOPage(t.Context(), page.filter)
		if err != nil || got.Items == nil || len(got.Items) != 0 || got.View.Revision != 1 {
			t.Errorf("%s: got %+v, %v, want an empty list of revision 1", name, got, err)
		}
	}
}

func membershipMoves(t *bench) {
	yes, no := true, false
	row := governance.DAOListItem{DAOID: "b", HasVoteData: true, CoverageStatus: governance.Backfilling}
	t.setDAOs(1, row, governance.DAOListItem{DAOID: "a", HasVoteData: true, CoverageStatus: governance.Complete})
	t.wantIDs(query.DAOs{Coverage: governance.Backfilling}, "b")
	t.wantIDs(query.DAOs{HasVoteData: &yes, HasForumData: &no}, "a", "b")

	row.CoverageStatus, row.HasForumData = governance.Complete, true
	t.setDAOs(2, row)
	t.wantIDs(query.DAOs{Coverage: governance.Backfilling})
	t.wantIDs(query.DAOs{Coverage: governance.Complete}, "a", "b")
	t.wantIDs(query.DAOs{HasVoteData: &yes, HasForumData: &no}, "a")
	t.wantIDs(query.DAOs{HasVoteData: &yes, HasForumData: &yes, Coverage: governance.Complete}, "b")
	t.wantIDs(query.DAOs{}, "a", "b")

	t.removeDAO(3, "b")
	for _, filter := range cache.AllFilters() {
		for _, got := range t.walk(filter, 10) {
			if got.DAOID == "b" {
				t.Errorf("a DAO that was removed is under %s", cache.ListKey(filter))
			}
		}
	}
	t.wantIDs(query.DAOs{}, "a")
}

func olderNeverReplacesRow(t *bench) {
	newer := governance.DAOListItem{DAOID: "a", Name: "newer", CoverageStatus: governance.Complete}
	older := governance.DAOListItem{DAOID: "a", Name: "older", CoverageStatus: governance.Partial}
	t.setDAOs(20, newer)
	t.setDAOs(3, older)
	env.WantSame(t, "rows", []governance.DAOListItem{newer}, t.walk(query.DAOs{}, 10))
	t.wantIDs(query.DAOs{Coverage: governance.Complete}, "a")
	t.wantIDs(query.DAOs{Coverage: governance.Partial})
	t.wantState(20)
}

func olderNeverRemovesRow(t *bench) {
	t.setDAOs(20, governance.DAOListItem{DAOID: "a", CoverageStatus: governance.Complete})
	t.removeDAO(19, "a")
	t.wantIDs(query.DAOs{}, "a")
	t.wantIDs(query.DAOs{Coverage: governance.Complete}, "a")
	t.wantState(20)
	t.removeDAO(20, "a")
	t.wantIDs(query.DAOs{})
}

// wantState checks how new the directory says it is.
func (t *bench) wantState(revision uint64) {
	t.Helper()
	page := env.Must(t.store.DAOPage(t.Context(), query.DAOs{Paging: query.Paging[query.DAOPosition]{Limit: 1}}))(t)
	want := cache.View{Revision: revision, DataAsOf: governance.Timestamp(revision), Readiness: governance.Ready}
	env.WantSame(t, "state of the directory", want, page.View)
}

func directoryState(t *bench) {
	t.setDAOs(20, governance.DAOListItem{DAOID: "b"})
	t.wantState(20)
	// A late row of another worker is new to the directory, which is not set back.
	t.setDAOs(10, governance.DAOListItem{DAOID: "a"})
	t.wantIDs(query.DAOs{}, "a", "b")
	t.wantState(20)
	t.setDAOs(30, governance.DAOListItem{DAOID: "a"})
	t.wantState(30)
	t.removeDAO(40, "a")
	t.wantState(40)
	t.removeDAO(41, "b")
	t.wantIDs(query.DAOs{})
	t.wantState(41)
}

func pageAfterRemoval(t *bench) {
	for _, id := range []string{"a", "b", "c", "d"} {
		t.setDAOs(1, governance.DAOListItem{DAOID: id})
	}
	t.removeDAO(2, "b")
	page, err := t.store.DAOPage(t.Context(), query.DAOs{Paging: query.Paging[query.DAOPosition]{After: new(query.DAOPosition("b")), Limit: 1}})
	if err != nil || len(page.Items) != 2 || page.Items[0].DAOID != "c" {
		t.Errorf("page after one that is gone: got %+v, %v, want c, and that more follows", page.Items, err)
	}
}

// A lost row must not pass for a directory without DAOs.
func lostRowIsUnavailable(t *bench) {
	t.setDAOs(1, governance.DAOListItem{DAOID: "a"}, governance.DAOListItem{DAOID: "b"})
	check := func(name string) {
		t.Helper()
		_, err := t.store.DAOPage(t.Context(), query.DAOs{Paging: query.Paging[query.DAOPosition]{Limit: 10}})
		if !errors.Is(err, cache.ErrUnavailable) || errors.Is(err, cache.ErrMiss) {
			t.Errorf("%s: got %v, want %v", name, err, cache.ErrUnavailable)
		}
	}
	for name, value := range brokenValues() {
		t.setRow("b", value)
		check(name)
	}
	env.MustDo(t, t.raw.HDel(t.Context(), string(cache.RowsKey), "b").Err())
	check("lost")
}

// A lost list must not pass for a filter that no DAO fits.
func lostListIsUnavailable(t *bench) {
	rows := someDAOs()
	for _, filter := range cache.AllFilters() {
		env.FlushRedis(t, t.raw)
		t.setDAOs(1, rows...)
		filter.Limit = 10
		before := env.Must(t.store.DAOPage(t.Context(), filter))(t)
		env.MustDo(t, t.raw.Del(t.Context(), string(cache.ListKey(filter))).Err())
		if _, err := t.store.DAOPage(t.Context(), filter); (err != nil) != (len(before.Items) > 0) || err != nil && !errors.Is(err, cache.ErrCorrupt) {
			t.Errorf("%s with %d DAOs: got %v, want it lost", cache.ListKey(filter), len(before.Items), err)
		}
	}
}

func brokenRowIsReplaced(t *bench) {
	for name, value := range brokenValues() {
		t.setRow("a", value)
		t.set(cache.StateKey, value)
		t.setDAOs(2, governance.DAOListItem{DAOID: "a", Name: fmt.Sprint("after ", name)})
		got := t.walk(query.DAOs{}, 10)
		if len(got) != 1 || got[0].Name != "after "+name {
			t.Errorf("%s: got %+v, want it replaced", name, got)
		}
		t.wantState(2)
	}
}
