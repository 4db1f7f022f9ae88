package cache_test

import (
	"errors"
	"fmt"
	"strings"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

func viewClaims() []claim {
	return []claim{
		{"a view comes back as it was written", viewRoundTrip},
		{"an older publication never replaces a view", olderNeverReplacesView},
		{"a publication may write a view twice", sameRevisionReplacesView},
		{"an older publication never removes a view", olderNeverRemovesView},
		{"what was removed does not come back with an older publication that is late", removedStaysAway},
		{"a mark that was removed may be added again", removedMarkIsAdded},
		{"a version that is raised takes the next sorted copy", raisedVersionTakesTheNextCopy},
		{"a view that is missing is a miss", missingViewIsMiss},
		{"a view that does not decode is a miss", brokenViewIsMiss},
		{"a view that does not decode is replaced by the next", brokenViewIsReplaced},
		{"values of another type are replaced by the next", otherTypeIsReplaced},
		{"the writer sends what is more than one flush", writerFlushes},
	}
}

func viewRoundTrip(t *bench) {
	fresh := governance.Timestamp(1709210096007)
	detail := governance.DAODetail{
		DAOID: "uniswap", Name: "Uniswap", CoverageStatus: governance.Complete,
		ProposalCounts: governance.ProposalCounts{Total: 3, Active: 1, Closed: 2},
		Participation:  governance.Participation{TotalVotingPower: "0.000000000000000001"},
		SourceTypes:    []governance.Provider{governance.Snapshot, governance.Tally},
	}
	view := env.Must(cache.NewView(cache.View{
		Revision: 99, DataAsOf: fresh - 1, Readiness: governance.ReadinessUnavailable, FreshUntil: &fresh,
	}, detail))(t)
	key := cache.DAODetailKey("uniswap")
	t.publish(1709210096007123, func(w *cache.Writer) { w.SetView(t.Context(), key, view) })

	got := env.Must(t.store.View(t.Context(), key))(t)
	want := view
	want.Revision = 1709210096007123 // the publication's, whatever the view said
	env.WantSame(t, "view", want, got)
	var back governance.DAODetail
	env.MustDo(t, got.Decode(&back))
	env.WantSame(t, "payload", detail, back)
}

func olderNeverReplacesView(t *bench) {
	key := cache.DAODetailKey("uniswap")
	t.setView(20, key, "newer")
	t.setView(19, key, "older")
	// As text, 3 is more than 20.
	t.setView(3, key, "oldest")
	t.wantView(key, "newer", 20)
	t.setView(100, key, "newest")
	t.wantView(key, "newest", 100)
	// One microsecond matters.
	t.setView(1709210096007123, key, "now")
	t.setView(1709210096007122, key, "just before")
	t.wantView(key, "now", 1709210096007123)
}

func sameRevisionReplacesView(t *bench) {
	key := cache.DAODetailKey("uniswap")
	t.setView(20, key, "first")
	t.setView(20, key, "second")
	t.wantView(key, "second", 20)
}

func olderNeverRemovesView(t *bench) {
	kept, removed, never := cache.DAODetailKey("kept"), cache.DAODetailKey("removed"), cache.DAODetailKey("never")
	t.setView(20, kept, "kept")
	t.setView(18, removed, "removed")
	t.publish(19, func(w *cache.Writer) {
		for _, key := range []cache.Key{kept, removed, never} {
			w.RemoveView(t.Context(), key)
		}
	})
	t.wantView(kept, "kept", 20)
	for _, key := range []cache.Key{removed, never} {
		if _, err := t.store.View(t.Context(), key); !errors.Is(err, cache.ErrMiss) {
			t.Errorf("view %s: got %v, want %v", key, err, cache.ErrMiss)
		}
	}
}

func removedStaysAway(t *bench) {
	key, dao := cache.DAODetailKey("a"), governance.DAOListItem{DAOID: "a"}
	t.setView(3, key, "early")
	t.setDAOs(3, dao, governance.DAOListItem{DAOID: "b"})
	t.publish(7, func(w *cache.Writer) {
		w.SetVersion(t.Context(), query.Scope{Kind: query.KindBallots, Subject: "a"}, 1)
		w.RemoveView(t.Context(), key)
		w.RemoveVersion(t.Context(), query.Scope{Kind: query.KindBallots, Subject: "a"})
		w.RemoveDAO(t.Context(), cache.View{}, "a")
	})
	t.setView(5, key, "late")
	t.setDAOs(5, dao)
	t.publish(5, func(w *cache.Writer) {
		w.SetVersion(t.Context(), query.Scope{Kind: query.KindBallots, Subject: "a"}, 2)
	})
	if _, err := t.store.View(t.Context(), key); !errors.Is(err, cache.ErrMiss) || errors.Is(err, cache.ErrCorrupt) {
		t.Errorf("the view: got %v, want %v", err, cache.ErrMiss)
	}
	if mark, err := t.store.Version(t.Context(), query.Scope{Kind: query.KindBallots, Subject: "a"}); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("the mark: got %+v, %v, want %v", mark, err, cache.ErrMiss)
	}
	t.wantIDs(query.DAOs{}, "b")

	t.setView(8, key, "again")
	t.setDAOs(8, dao)
	t.wantView(key, "again", 8)
	t.wantIDs(query.DAOs{}, "a", "b")
	if ttl, err := t.raw.TTL(t.Context(), string(key)).Result(); err != nil || ttl > 0 {
		t.Errorf("what is published again ends in %s, %v, want never", ttl, err)
	}
}

func removedMarkIsAdded(t *bench) {
	t.publish(7, func(w *cache.Writer) {
		w.RemoveVersion(t.Context(), query.Scope{Kind: query.KindBallots, Subject: "a"})
	})
	for range 2 {
		t.publish(8, func(w *cache.Writer) {
			w.InitVersion(t.Context(), query.Scope{Kind: query.KindBallots, Subject: "a"})
		})
		env.Want(t, 1, env.Must(t.store.Version(t.Context(), query.Scope{Kind: query.KindBallots, Subject: "a"}))(t).Revision, "revision 1")
		t.publish(8, func(w *cache.Writer) {
			w.SetVersion(t.Context(), query.Scope{Kind: query.KindBallots, Subject: "b"}, 0)
		})
	}
}

// Names are published later than the ballots of a copy that is still being built.
func raisedVersionTakesTheNextCopy(t *bench) {
	scope := query.Scope{Kind: query.KindBallots, Subject: "raised"}
	for _, step := range []struct {
		write func(*cache.Writer)
		at    uint64
		want  cache.Version
	}{
		{func(w *cache.Writer) { w.RaiseVersion(t.Context(), scope) }, 4, cache.Version{}},
		{func(w *cache.Writer) { w.SetVersion(t.Context(), scope, 1) }, 5, cache.Version{Revision: 5, Generation: 1}},
		{func(w *cache.Writer) { w.RaiseVersion(t.Context(), scope) }, 9, cache.Version{Revision: 6, Generation: 1}},
		{func(w *cache.Writer) { w.SetVersion(t.Context(), scope, 2) }, 7, cache.Version{Revision: 7, Generation: 2}},
	} {
		t.publish(step.at, step.write)
		if got, err := t.store.Version(t.Context(), scope); got != step.want {
			t.Errorf("at %d: got %+v, %v, want %+v", step.at, got, err, step.want)
		}
	}
	for _, value := range brokenValues() {
		t.set(cache.VersionKey(scope), value)
		t.publish(9, func(w *cache.Writer) { w.RaiseVersion(t.Context(), scope); w.SetVersion(t.Context(), scope, 2) })
		env.Want(t, cache.Version{Revision: 9, Generation: 2}, env.Must(t.store.Version(t.Context(), scope))(t), value)
	}
}

func missingViewIsMiss(t *bench) {
	t.setView(1, cache.DAODetailKey("uniswap"), "there")
	for _, key := range []cache.Key{cache.DAODetailKey("compound"), cache.DataStatusKey("uniswap"), cache.DataStatusKey("")} {
		_, err := t.store.View(t.Context(), key)
		if !errors.Is(err, cache.ErrMiss) || errors.Is(err, cache.ErrUnavailable) {
			t.Errorf("view %s: got %v, want %v", key, err, cache.ErrMiss)
		}
	}
}

// brokenValues are what no publication has written.
func brokenValues() map[string]string {
	const revision = "0000000000000001"
	return map[string]string{
		"nothing":                 "",
		"a short text":            "0000000000000",
		"a revision alone":        revision,
		"no revision":             strings.Repeat("x", 40),
		"a revision and rubbish":  revision + "\xc1rubbish",
		"a revision and a number": revision + "\x07",
		"a view cut short":        revision + "\x84\xa1a\xd3\x00",
		"JSON":                    `{"revision":1,"payload":{}}`,
	}
}

func brokenViewIsMiss(t *bench) {
	key := cache.DAODetailKey("uniswap")
	for name, value := range brokenValues() {
		t.set(key, value)
		_, err := t.store.View(t.Context(), key)
		if !errors.Is(err, cache.ErrMiss) || errors.Is(err, cache.ErrUnavailable) {
			t.Errorf("%s: got %v, want %v", name, err, cache.ErrMiss)
		}
	}
	env.FlushRedis(t, t.raw)
	t.setView(1, key, "a text, not a DAO")
	view := env.Must(t.store.View(t.Context(), key))(t)
	var detail governance.DAODetail
	env.WantError(t, cache.ErrMiss, view.Decode(&detail), "another payload")
}

func brokenViewIsReplaced(t *bench) {
	key := cache.DAODetailKey("uniswap")
	for _, value := range brokenValues() {
		t.set(key, value)
		t.setView(2, key, "whole")
		t.wantView(key, "whole", 2)
	}
	t.set(key, "broken")
	t.publish(3, func(w *cache.Writer) { w.RemoveView(t.Context(), key) })
	if _, err := t.store.View(t.Context(), key); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("after removal: got %v, want %v", err, cache.ErrMiss)
	}
}

// Another program may have written to the keys.
func otherTypeIsReplaced(t *bench) {
	key, removed := cache.DAODetailKey("a"), cache.DAODetailKey("removed")
	scope, counted := query.Ballots{Proposal: "p1_a"}.Scope(), query.Ballots{Proposal: "p1_b"}.Scope()
	keys := []cache.Key{
		key, removed, cache.VersionKey(scope), cache.VersionKey(counted), cache.RowsKey, cache.StateKey, cache.ListKey(query.DAOs{}),
		cache.PublicationKey,
	}
	for _, key := range keys {
		env.MustDo(t, t.raw.LPush(t.Context(), string(key), "another").Err())
	}
	_, failed := t.store.View(t.Context(), key)
	env.WantError(t, cache.ErrCorrupt, failed, "view")
	_, failed = t.store.Version(t.Context(), scope)
	env.WantError(t, cache.ErrMiss, failed, "version")
	_, failed = t.store.PublicationState(t.Context())
	env.WantError(t, cache.ErrMiss, failed, "state of publication")
	_, failed = t.store.DAOPage(t.Context(), query.DAOs{Paging: query.Paging[query.DAOPosition]{Limit: 1}})
	env.WantError(t, cache.ErrCorrupt, failed, "DAO index")
	t.setView(2, key, "whole")
	t.publish(2, func(w *cache.Writer) {
		w.RemoveView(t.Context(), removed)
		w.RaiseVersion(t.Context(), scope)
		w.SetVersion(t.Context(), scope, 0)
		w.InitVersion(t.Context(), counted)
	})
	t.wantView(key, "whole", 2)
	env.Want(t, 2, env.Must(t.store.Version(t.Context(), scope))(t).Revision, "version")
	env.Want(t, 1, env.Must(t.store.Version(t.Context(), counted))(t).Revision, "first version")
	t.setDAOs(2, governance.DAOListItem{DAOID: "a"})
	t.wantIDs(query.DAOs{}, "a")
}

func writerFlushes(t *bench) {
	const values = 2*cache.FlushSize + 10
	view := env.Must(cache.NewView(cache.View{}, "text"))(t)
	writer := t.store.NewWriter(7)
	written := func(position int) bool {
		_, err := t.store.View(t.Context(), numbered(position))
		if err != nil && !errors.Is(err, cache.ErrMiss) {
			t.Fatal(err)
		}
		return err == nil
	}
	for i := range values {
		writer.SetView(t.Context(), numbered(i), view)
		switch i {
		case cache.FlushSize - 2:
			if written(0) {
				t.Error("the first value was sent by itself")
			}
		case cache.FlushSize - 1:
			// They are sent while the next ones are written.
			env.Until(t.T, func() error {
				if !written(0) || !written(i) {
					return fmt.Errorf("%d values wait in memory", cache.FlushSize)
				}
				return nil
			})
		}
	}
	if written(values - 1) {
		t.Error("the last value was sent by itself")
	}
	env.MustDo(t, writer.Flush(t.Context()))
	for i := range values {
		if !written(i) {
			t.Fatalf("value %d of %d is missing", i, values)
		}
	}
	env.Want(t, values, writer.Written(), "written")
	env.WantError(t, nil, writer.Flush(t.Context()), "flush of nothing")
}

// numbered is one key of many.
func numbered(position int) cache.Key {
	return cache.DAODetailKey(string(governance.CountOf(uint64(position))))
}
