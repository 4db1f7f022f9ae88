package cache_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

func openEmbedded(t *testing.T) *cache.Store {
	t.Helper()
	store := env.Store(t, env.EmbeddedRedis(t))
	return store
}

// Every write says which answers it outdates, by the names that the answers carry.
func TestWhatIsWrittenSaysWhatItOutdates(t *testing.T) {
	t.Parallel()
	store := openEmbedded(t)
	const key, topic = governance.ProposalKey("p1_a"), governance.TopicKey("t1_a")
	view := cache.View{Readiness: governance.Ready}
	for name, c := range map[string]struct {
		write func(w *cache.Writer)
		want  []cache.Tag
	}{
		"status of all": {func(w *cache.Writer) { w.SetView(t.Context(), cache.DataStatusKey(""), view) }, []cache.Tag{cache.StatusTag}},
		"status":        {func(w *cache.Writer) { w.SetView(t.Context(), cache.DataStatusKey("a b"), view) }, []cache.Tag{cache.DAOTag("a b")}},
		"detail":        {func(w *cache.Writer) { w.RemoveView(t.Context(), cache.DAODetailKey("a:b")) }, []cache.Tag{cache.DAOTag("a:b")}},
		"timeline":      {func(w *cache.Writer) { w.SetView(t.Context(), cache.TimelineKey("a", "votes_cast"), view) }, []cache.Tag{cache.DAOTag("a")}},
		"proposal":      {func(w *cache.Writer) { w.SetView(t.Context(), cache.ProposalDetailKey(key), view) }, []cache.Tag{cache.ProposalTag(key)}},
		"summary":       {func(w *cache.Writer) { w.SetView(t.Context(), cache.VoteSummaryKey(key), view) }, []cache.Tag{cache.ProposalTag(key)}},
		"evidence":      {func(w *cache.Writer) { w.SetView(t.Context(), cache.EvidenceKey(key), view) }, []cache.Tag{cache.ProposalTag(key)}},
		"topic":         {func(w *cache.Writer) { w.RemoveView(t.Context(), cache.TopicDetailKey(topic)) }, []cache.Tag{cache.TopicTag(topic)}},
		"ballots": {func(w *cache.Writer) {
			w.SetVersion(t.Context(), query.Scope{Kind: query.KindBallots, Subject: string(key)}, 0)
		}, []cache.Tag{cache.ProposalTag(key)}},
		"ranking": {func(w *cache.Writer) {
			w.RemoveVersion(t.Context(), query.Scope{Kind: query.KindVoters, Subject: "a"})
		}, []cache.Tag{cache.DAOTag("a")}},
		"a list": {func(w *cache.Writer) {
			w.SetVersion(t.Context(), query.Scope{Kind: query.KindEvents, Subject: "a"}, 0)
		}, []cache.Tag{cache.ScopeTag(query.Scope{Kind: query.KindEvents, Subject: "a"})}},
		"rows":  {func(w *cache.Writer) { w.SetVersion(t.Context(), cache.ProposalRows(), 0) }, nil},
		"usage": {func(w *cache.Writer) { w.SetView(t.Context(), cache.UsageKey("a"), view) }, nil},
		"directory": {func(w *cache.Writer) {
			w.SetDAO(t.Context(), view, governance.DAOListItem{DAOID: "a"})
		}, []cache.Tag{cache.DAOTag("a"), cache.DAOIndexTag}},
	} {
		t.Run(name, func(t *testing.T) {
			writer := store.NewWriter(1)
			c.write(writer)
			if got := writer.Changed(); !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
			}
			if again := writer.Changed(); len(again) != 0 {
				t.Errorf("%s: told %v twice", name, again)
			}
		})
	}
}

func TestTooManyChangesAreEverything(t *testing.T) {
	t.Parallel()
	writer := openEmbedded(t).NewWriter(1)
	for i := range 3000 {
		writer.RemoveView(t.Context(), cache.DAODetailKey(fmt.Sprint(i)))
	}
	if got := writer.Changed(); !slices.Equal(got, []cache.Tag{cache.EverythingTag}) {
		t.Errorf("got %d tags, want one for everything", len(got))
	}
}

// Two writers of a publication, each of a goroutine, become one.
func TestJoinedWritersSayWhatBothOutdate(t *testing.T) {
	t.Parallel()
	store := openEmbedded(t)
	first, second := store.NewWriter(1), store.NewWriter(1)
	for writer, ids := range map[*cache.Writer][]string{first: {"a", "b"}, second: {"b", "c"}} {
		for _, id := range ids {
			writer.SetPayload(t.Context(), cache.DAODetailKey(id), cache.View{}, id)
			writer.AddChange(governance.DAOChange, id, id, 1)
		}
	}
	env.MustDo(t, first.Join(t.Context(), second))
	if _, err := store.View(t.Context(), cache.DAODetailKey("c")); err != nil {
		t.Errorf("the joined writer was not flushed: %v", err)
	}
	want := []cache.Tag{cache.DAOTag("a"), cache.DAOTag("b"), cache.DAOTag("c")}
	got := slices.DeleteFunc(first.Changed(), func(tag cache.Tag) bool { return !slices.Contains(want, tag) })
	if !slices.Equal(got, want) || first.Written() != 4 {
		t.Errorf("got %d values of %v, want 4 of %v", first.Written(), got, want)
	}
	env.Want(t, 3, len(env.Must(first.TakeChanges(t.Context()))(t)), "changes", "each once")
}

func TestJoiningAWriterOfEverythingIsEverything(t *testing.T) {
	t.Parallel()
	store := openEmbedded(t)
	first, second := store.NewWriter(1), store.NewWriter(1)
	first.RemoveView(t.Context(), cache.DAODetailKey("a"))
	for i := range 3000 {
		second.RemoveView(t.Context(), cache.DAODetailKey(fmt.Sprint(i)))
	}
	env.MustDo(t, first.Join(t.Context(), second))
	if got := first.Changed(); !slices.Equal(got, []cache.Tag{cache.EverythingTag}) {
		t.Errorf("got %d tags, want one for everything", len(got))
	}
}

func TestTagsFitHeaders(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a b,c", "民", strings.Repeat("x", 512), strings.Repeat("民", 170)} {
		tag := string(cache.DAOTag(id))
		if len(tag) > 100 || strings.ContainsFunc(tag, func(r rune) bool { return r <= ' ' || r > '~' || r == ',' }) {
			t.Errorf("%q: got the tag %q", id, tag)
		}
	}
	if cache.DAOTag(strings.Repeat("x", 511)) == cache.DAOTag(strings.Repeat("x", 512)) {
		t.Error("got one tag for two long ids")
	}
}
