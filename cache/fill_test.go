package cache_test

import (
	"context"
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
		got := env.Must(store.Fills().Dequeue(t.Context(), []query.Kind{query.KindProfile}, c.end, one, time.Second))(t)
		var page query.Profile
		env.MustDo(t, got[0].Page.Decode(&page))
		env.Want(t, c.want, page.Voter, "the", c.end)
	}
}

func TestKeptRequestsAreTakenInTheirOrderFromEitherEnd(t *testing.T) {
	t.Parallel()
	store := openEmbedded(t)
	for _, proposal := range []governance.ProposalKey{"p1_first", "p1_second", "p1_third"} {
		wanted := cache.Fill{Page: cache.NewPageRequest(query.Dossier{Proposal: proposal}), Kept: true}
		env.MustDo(t, store.Fills().Enqueue(t.Context(), wanted))
	}
	for _, want := range []governance.ProposalKey{"p1_first", "p1_second", "p1_third"} {
		got := env.Must(store.Fills().Dequeue(t.Context(), []query.Kind{query.KindDossier}, cache.Newest, one, time.Second))(t)
		var page query.Dossier
		env.MustDo(t, got[0].Page.Decode(&page))
		env.Want(t, want, page.Proposal, "proposal")
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
	voter := func(identity query.Voter) query.Page { return query.Profile{Voter: identity} }
	ballots := query.Page(query.Ballots{Proposal: "p1_a"})
	both := []query.Kind{query.KindProfile, query.KindBallots}
	for end, batches := range map[cache.QueueEnd][][]query.Page{
		cache.Oldest: {{voter("0x1"), voter("0x2")}, {voter("0x3")}, {ballots}},
		cache.Newest: {{voter("0x3"), voter("0x2")}, {voter("0x1")}, {ballots}},
	} {
		t.Run(string(end), func(t *testing.T) {
			t.Parallel()
			store := openEmbedded(t)
			for _, page := range []query.Page{voter("0x1"), ballots, voter("0x2"), voter("0x3")} {
				wanted := cache.Fill{Page: cache.NewPageRequest(page), Deadline: governance.TimestampOf(time.Now().Add(time.Minute))}
				env.MustDo(t, store.Fills().Enqueue(t.Context(), wanted))
			}
			for _, want := range batches {
				got := env.Must(store.Fills().Dequeue(t.Context(), both, end, func(query.Kind) int { return 2 }, time.Second))(t)
				if !slices.EqualFunc(got, want, func(f cache.Fill, page query.Page) bool { return f.Page.Key() == cache.NewPageRequest(page).Key() }) {
					t.Errorf("got %v, want %v", got, want)
				}
			}
		})
	}
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
