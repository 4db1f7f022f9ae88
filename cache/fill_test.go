package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

func TestRequestsAreTakenFromEitherEndOfTheQueue(t *testing.T) {
	t.Parallel()
	store := openEmbedded(t)
	for _, voter := range []query.Voter{"first", "second", "third"} {
		wanted := cache.Fill{
			Page:     cache.NewPageRequest(query.Profile{Voter: voter}),
			Deadline: governance.TimestampOf(time.Now().Add(time.Minute)),
		}
		env.MustDo(t, store.Fills().Enqueue(t.Context(), wanted))
	}
	for _, c := range []struct {
		end  cache.QueueEnd
		want query.Voter
	}{{cache.Newest, "third"}, {cache.Oldest, "first"}, {cache.Oldest, "second"}} {
		got, err := store.Fills().Dequeue(t.Context(), []query.Kind{query.KindProfile}, c.end, one, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var page query.Profile
		if err := errors.Join(err, got[0].Page.Decode(&page)); err != nil || page.Voter != c.want {
			t.Errorf("the %s: got %s (%v), want %s", c.end, page.Voter, err, c.want)
		}
	}
}

func TestKeptRequestsAreTakenInTheirOrderFromEitherEnd(t *testing.T) {
	t.Parallel()
	store := openEmbedded(t)
	for _, proposal := range []governance.ProposalKey{"p1_first", "p1_second", "p1_third"} {
		wanted := cache.Fill{Page: cache.NewPageRequest(query.Dossier{Proposal: proposal}), Kept: true}
		env.MustDo(t, store.Fills().Enqueue(t.Context(), wanted))
	}
	requeued := false
	for _, want := range []governance.ProposalKey{"p1_first", "p1_first", "p1_second", "p1_third"} {
		got, err := store.Fills().Dequeue(t.Context(), []query.Kind{query.KindDossier}, cache.Newest, one, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var page query.Dossier
		if err := errors.Join(err, got[0].Page.Decode(&page)); err != nil || page.Proposal != want {
			t.Errorf("got %s (%v), want %s", page.Proposal, err, want)
		}
		if requeued {
			continue
		}
		requeued = true
		env.MustDo(t, store.Fills().Requeue(t.Context(), got, cache.Newest))
	}
}

// A filler that stops does not wait until its long wait for a request ends.
func TestAWaitForRequestsEndsWithItsContext(t *testing.T) {
	t.Parallel()
	store := openEmbedded(t)
	for _, end := range []cache.QueueEnd{cache.Oldest, cache.Newest} {
		t.Run(string(end), func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := store.Fills().Dequeue(ctx, []query.Kind{query.KindProfile}, end, one, time.Hour)
				ended <- err
			}()
			stop()
			env.WantError(t, cache.ErrNoFill, <-ended)
		})
	}
}

// one is the limit of a set of one request.
func one(query.Kind) int { return 1 }

func TestRequestsOfOneKindAreTakenInOneBatch(t *testing.T) {
	t.Parallel()
	store := openEmbedded(t)
	for _, page := range []query.Page{
		query.Profile{Voter: "0x1"}, query.Ballots{Proposal: "p1_a"}, query.Profile{Voter: "0x2"}, query.Profile{Voter: "0x3"},
	} {
		wanted := cache.Fill{Page: cache.NewPageRequest(page), Deadline: governance.TimestampOf(time.Now().Add(time.Minute))}
		env.MustDo(t, store.Fills().Enqueue(t.Context(), wanted))
	}
	both := []query.Kind{query.KindProfile, query.KindBallots}
	two := func(query.Kind) int { return 2 }
	take := func(end cache.QueueEnd, want ...query.Page) []cache.Fill {
		t.Helper()
		got := env.Must(store.Fills().Dequeue(t.Context(), both, end, two, time.Second))(t)
		var names, wanted []cache.Key
		for _, f := range got {
			names = append(names, f.Page.Key())
		}
		for _, page := range want {
			wanted = append(wanted, cache.NewPageRequest(page).Key())
		}
		if !slices.Equal(names, wanted) {
			t.Fatalf("got %q, want %q", names, wanted)
		}
		return got
	}
	for _, end := range []cache.QueueEnd{cache.Oldest, cache.Newest} {
		first, second := query.Page(query.Profile{Voter: "0x1"}), query.Page(query.Profile{Voter: "0x2"})
		if end == cache.Newest {
			first = query.Profile{Voter: "0x3"}
		}
		env.MustDo(t, store.Fills().Requeue(t.Context(), take(end, first, second), end))
	}
	take(cache.Oldest, query.Profile{Voter: "0x1"}, query.Profile{Voter: "0x2"})
	take(cache.Oldest, query.Profile{Voter: "0x3"})
	take(cache.Oldest, query.Ballots{Proposal: "p1_a"})
}

func TestAFullQueueOfOneKindTakesRequestsOfOthers(t *testing.T) {
	t.Parallel()
	store := openEmbedded(t)
	enqueue := func(page query.Page) error {
		return store.Fills().Enqueue(t.Context(), cache.Fill{
			Page: cache.NewPageRequest(page), Deadline: governance.TimestampOf(time.Now().Add(time.Minute)),
		})
	}
	for i := range cache.MaxQueuedFills {
		env.MustDo(t, enqueue(query.Profile{Voter: query.Voter(fmt.Sprint(i))}))
	}
	env.WantError(t, cache.ErrQueueFull, enqueue(query.Profile{Voter: "one more"}), "for one more of the kind")
	if err := enqueue(query.Ballots{Proposal: "p1_a"}); err != nil {
		t.Errorf("got %v for another kind, want it queued", err)
	}
	length := env.Must(store.Fills().Length(t.Context(), []query.Kind{query.KindProfile, query.KindBallots}))(t)
	env.Want(t, cache.MaxQueuedFills, length, "requests in the longest queue")
}
