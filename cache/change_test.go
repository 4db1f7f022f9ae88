package cache_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
)

func changeClaims() []claim {
	return []claim{
		{"changes come in the order in which they were written", changesAreOrdered},
		{"a writer adds its changes after its values", changesFollowValues},
		{"a publication leaves the changes as they are", publicationLeavesChanges},
		{"changes are added after the last row alone", changesAreAddedAtTheEnd},
		{"changes older than a week go, and the newest of them stays as the beginning", oldChangesGo},
		{"the state of the feed comes back as it was written", feedStateRoundTrip},
		{"the names of the feed come back as they were written last", feedNamesRoundTrip},
	}
}

// lead publishes a state as a worker does that has published everything at revision 7.
func (t *bench) lead() *cache.Lease {
	t.Helper()
	lease := t.store.NewLease(time.Hour)
	if err := lease.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := setPublished(t.Context(), lease, cache.PublicationState{Revision: 7, LastFullRevision: 7}); err != nil {
		t.Fatal(err)
	}
	t.addChanges()
	return lease
}

// addChanges adds changes of proposals with these keys.
func (t *bench) addChanges(keys ...string) {
	t.Helper()
	var changes []governance.Change
	for _, key := range keys {
		changes = append(changes, governance.Change{
			Kind: governance.ProposalChange, Key: key, DAOID: "dao", ChangedAt: 1709210096007, Revision: "1709210096007123",
		})
	}
	if _, err := env.AddChanges(t.Context(), t.store, changes...); err != nil {
		t.Fatal(err)
	}
}

func (t *bench) changes(after cache.ChangeID, limit int) cache.ChangeSlice {
	t.Helper()
	slice, err := t.store.Changes(t.Context(), after, limit)
	if err != nil {
		t.Fatal(err)
	}
	return slice
}

func (t *bench) wantKeys(rows []cache.ChangeRow, want ...string) {
	t.Helper()
	var got []string
	for _, row := range rows {
		got = append(got, row.Key)
	}
	if !slices.Equal(got, want) {
		t.Errorf("keys: got %v, want %v", got, want)
	}
}

func changesAreOrdered(t *bench) {
	if _, err := t.store.Changes(t.Context(), cache.ChangeID{}, 10); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("before a publication: got %v, want %v", err, cache.ErrMiss)
	}
	t.lead()
	begin := t.changes(cache.ChangeID{}, 10)
	t.wantKeys(begin.Rows)
	if begin.State.LastFullRevision != 7 || begin.First != begin.Last || begin.Last == (cache.ChangeID{}) {
		t.Errorf("at first: got %+v, want epoch 7 that begins where it ends", begin)
	}
	var keys []string
	for i := range 1200 { // more than one script adds
		keys = append(keys, fmt.Sprint("p", i))
	}
	t.addChanges(keys...)
	first := t.changes(begin.Last, 1000)
	t.wantKeys(first.Rows, keys[:1000]...)
	rest := t.changes(first.Rows[999].ID, 1000)
	t.wantKeys(rest.Rows, keys[1000:]...)
	if !first.HasMore || rest.HasMore || rest.First != begin.First || rest.Last != rest.Rows[199].ID {
		t.Errorf("got more %v and %v, first %v, last %v, want true, false, %v, %v",
			first.HasMore, rest.HasMore, rest.First, rest.Last, begin.First, rest.Rows[199].ID)
	}
	want := governance.Change{Kind: "proposal", Key: "p0", DAOID: "dao", ChangedAt: 1709210096007, Revision: "1709210096007123"}
	if got := first.Rows[0].Change; got != want {
		t.Errorf("row: got %+v, want %+v", got, want)
	}
}

func changesFollowValues(t *bench) {
	t.lead()
	writer := t.store.NewWriter(8)
	key := cache.TopicDetailKey("t1")
	if err := writer.SetPayload(t.Context(), key, cache.View{}, "text"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		writer.AddChange(governance.TopicChange, "t1", "dao", 5)
	}
	rows, err := writer.TakeChanges(t.Context())
	want := governance.Change{Kind: governance.TopicChange, Key: "t1", DAOID: "dao", ChangedAt: 5, Revision: "8"}
	if err != nil || len(rows) != 1 || rows[0] != want {
		t.Errorf("got %+v, %v, want %+v", rows, err, want)
	}
	t.wantView(key, "text", 8)
	if rows, err := writer.TakeChanges(t.Context()); err != nil || len(rows) != 0 {
		t.Errorf("again: got %v, %v, want none", rows, err)
	}
}

func publicationLeavesChanges(t *bench) {
	lease := t.lead()
	t.addChanges("a", "b")
	before := t.changes(cache.ChangeID{}, 10)
	if err := lease.SetPublicationState(t.Context(), cache.PublicationState{Revision: 8, LastFullRevision: 7}, ""); err != nil {
		t.Fatal(err)
	}
	if err := setPublished(t.Context(), lease, cache.PublicationState{Revision: 9, LastFullRevision: 9, ChangesEpoch: 5}); err != nil {
		t.Fatal(err)
	}
	got := t.changes(cache.ChangeID{}, 10)
	t.wantKeys(got.Rows, "a", "b")
	if got.First != before.First || got.State.ChangesEpoch != 5 {
		t.Errorf("got epoch %d that begins at %v, want 5 at %v", got.State.ChangesEpoch, got.First, before.First)
	}
}

func changesAreAddedAtTheEnd(t *bench) {
	t.lead()
	before, err := t.store.ChangeHead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.addChanges("a")
	row := []cache.ChangeRow{{ID: cache.ChangeID{Time: before.Time + 1<<20}, Change: governance.Change{Kind: "dao", Key: "late"}}}
	if _, err := t.store.AppendChanges(t.Context(), &before.Last, row); !errors.Is(err, cache.ErrChangesMoved) {
		t.Errorf("after a row that is not the last: got %v, want %v", err, cache.ErrChangesMoved)
	}
	t.wantKeys(t.changes(cache.ChangeID{}, 10).Rows, "a")
	if head, err := t.store.ChangeHead(t.Context()); err != nil || !head.Exists || head.Time <= head.Last.Time {
		t.Errorf("got %+v, %v, want a time after the last row", head, err)
	}
	if _, err := t.store.AppendChanges(t.Context(), nil, row); err != nil {
		t.Fatal(err)
	}
	t.wantKeys(t.changes(cache.ChangeID{}, 10).Rows, "late")
}

func oldChangesGo(t *bench) {
	t.lead()
	week := time.Now().Add(-cache.ChangeTTL)
	old := func(key string, age time.Duration) cache.ChangeID {
		id := cache.ChangeID{Time: uint64(week.Add(-age).UnixMilli()), Number: 3}
		if err := t.raw.XAdd(t.Context(), &redis.XAddArgs{
			Stream: string(cache.ChangesKey), ID: id.String(), Values: []any{"k", "dao", "n", key, "d", key, "t", 1, "r", 1},
		}).Err(); err != nil {
			t.Fatal(err)
		}
		return id
	}
	if err := t.raw.Del(t.Context(), string(cache.ChangesKey)).Err(); err != nil {
		t.Fatal(err)
	}
	old("a", 3*time.Hour)
	newest := old("b", 2*time.Hour)
	old("c", -time.Hour)
	t.addChanges("d")
	got := t.changes(newest, 10)
	t.wantKeys(got.Rows, "c", "d")
	if got.First != newest {
		t.Errorf("begins at %v, want %v, after which nothing is missing", got.First, newest)
	}
}

func feedStateRoundTrip(t *bench) {
	if _, err := t.store.FeedState(t.Context()); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("at first: got %v, want %v", err, cache.ErrMiss)
	}
	want := cache.FeedState{Revision: 1709210096007123, VisibleThrough: 1709210096007, FullRevision: 1709210096000000}
	if err := t.store.SetFeedState(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if got, err := t.store.FeedState(t.Context()); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func feedNamesRoundTrip(t *bench) {
	for _, want := range []map[string]string{{}, {"a": "A", "b": "B"}, {"b": "The B"}, {}} {
		if err := t.store.SetFeedNames(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		if got, err := t.store.FeedNames(t.Context()); err != nil || !maps.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
}

func TestChangesBeyondTheBoundGo(t *testing.T) {
	t.Parallel()
	b := newBench(t, env.EmbeddedRedis(t), func() {})
	b.lead()
	for i := range 20 {
		b.addChanges(fmt.Sprint(i))
	}
	last := b.changes(cache.ChangeID{}, 30).Last
	if err := cache.AppendChangesScript.Run(t.Context(), b.raw, []string{string(cache.ChangesKey)},
		last.String(), cache.ChangeTTL.Milliseconds(), 3).Err(); err != nil {
		t.Fatal(err)
	}
	got := b.changes(cache.ChangeID{}, 10)
	b.wantKeys(got.Rows, "17", "18", "19")
	if got.First != got.Rows[0].ID {
		t.Errorf("begins at %v, want %v: whoever read up to an earlier row has missed some", got.First, got.Rows[0].ID)
	}
}
