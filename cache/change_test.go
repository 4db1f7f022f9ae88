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
	env.MustDo(t, lease.Acquire(t.Context()))
	env.MustDo(t, setPublished(t.Context(), lease, cache.PublicationState{Revision: 7, LastFullRevision: 7}))
	t.addChanges()
	return lease
}

func (t *bench) addChanges(keys ...string) {
	t.Helper()
	var changes []governance.Change
	for _, key := range keys {
		changes = append(changes, governance.Change{
			Kind: governance.ProposalChange, Key: key, DAOID: "dao", ChangedAt: 1709210096007, Revision: "1709210096007123",
		})
	}
	env.Must(env.AddChanges(t.Context(), t.store, changes...))(t)
}

func (t *bench) changes(after cache.ChangeID, limit int) cache.ChangeSlice {
	t.Helper()
	return env.Must(t.store.Changes(t.Context(), after, limit))(t)
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
	env.Want(t, want, first.Rows[0].Change, "row")
}

func changesFollowValues(t *bench) {
	t.lead()
	writer := t.store.NewWriter(8)
	key := cache.TopicDetailKey("t1")
	writer.SetPayload(t.Context(), key, cache.View{}, "text")
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
	env.MustDo(t, lease.SetPublicationState(t.Context(), cache.PublicationState{Revision: 8, LastFullRevision: 7}, ""))
	env.MustDo(t, setPublished(t.Context(), lease, cache.PublicationState{Revision: 9, LastFullRevision: 9, ChangesEpoch: 5}))
	got := t.changes(cache.ChangeID{}, 10)
	t.wantKeys(got.Rows, "a", "b")
	if got.First != before.First || got.State.ChangesEpoch != 5 {
		t.Errorf("got epoch %d that begins at %v, want 5 at %v", got.State.ChangesEpoch, got.First, before.First)
	}
}

func changesAreAddedAtTheEnd(t *bench) {
	t.lead()
	before := env.Must(t.store.ChangeHead(t.Context()))(t)
	t.addChanges("a")
	row := []cache.ChangeRow{{ID: cache.ChangeID{Time: before.Time + 1<<20}, Change: governance.Change{Kind: "dao", Key: "late"}}}
	if _, err := t.store.AppendChanges(t.Context(), &before.Last, row); !errors.Is(err, cache.ErrChangesMoved) {
		t.Errorf("after a row that is not the last: got %v, want %v", err, cache.ErrChangesMoved)
	}
	t.wantKeys(t.changes(cache.ChangeID{}, 10).Rows, "a")
	if head, err := t.store.ChangeHead(t.Context()); err != nil || !head.Exists || head.Time <= head.Last.Time {
		t.Errorf("got %+v, %v, want a time after the last row", head, err)
	}
	env.Must(t.store.AppendChanges(t.Context(), nil, row))(t)
	t.wantKeys(t.changes(cache.ChangeID{}, 10).Rows, "late")
}

func oldChangesGo(t *bench) {
	t.lead()
	week := time.Now().Add(-cache.ChangeTTL)
	old := func(key string, age time.Duration) cache.ChangeID {
		id := cache.ChangeID{Time: uint64(week.Add(-age).UnixMilli()), Number: 3}
		env.MustDo(t, t.raw.XAdd(t.Context(), &redis.XAddArgs{
			Stream: string(cache.ChangesKey), ID: id.String(), Values: []any{"k", "dao", "n", key, "d", key, "t", 1, "r", 1},
		}).Err())
		return id
	}
	env.MustDo(t, t.raw.Del(t.Context(), string(cache.ChangesKey)).Err())
	old("a", 3*time.Hour)
	newest := old("b", 2*time.Hour)
	old("c", -time.Hour)
	t.addChanges("d")
	got := t.changes(newest, 10)
	t.wantKeys(got.Rows, "c", "d")
	env.Want(t, newest, got.First, "begins", "after which nothing is missing")
}

func feedStateRoundTrip(t *bench) {
	if _, err := t.store.FeedState(t.Context()); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("at first: got %v, want %v", err, cache.ErrMiss)
	}
	want := cache.FeedState{Revision: 1709210096007123, VisibleThrough: 1709210096007, FullRevision: 1709210096000000}
	env.MustDo(t, t.store.SetFeedState(t.Context(), want))
	env.Want(t, want, env.Must(t.store.FeedState(t.Context()))(t))
}

func feedNamesRoundTrip(t *bench) {
	for _, want := range []map[string]string{{}, {"a": "A", "b": "B"}, {"b": "The B"}, {}} {
		env.MustDo(t, t.store.SetFeedNames(t.Context(), want))
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
	env.MustDo(t, cache.AppendChangesScript.Run(t.Context(), b.raw, []string{string(cache.ChangesKey)},
		last.String(), cache.ChangeTTL.Milliseconds(), 3).Err())
	got := b.changes(cache.ChangeID{}, 10)
	b.wantKeys(got.Rows, "17", "18", "19")
	env.Want(t, got.Rows[0].ID, got.First, "begins", "whoever read up to an earlier row has missed some")
}
