package cache_test

import (
	"errors"
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
)

func TestRequestsAreTakenFromEitherEndOfTheQueue(t *testing.T) {
	t.Parallel()
	store := openEmbedded(t)
	for _, voter := range []query.Voter{"first", "second", "third"} {
		wanted := cache.Fill{
			Page:     cache.NewPageRequest(query.Profile{Voter: voter}),
			Deadline: governance.TimestampOf(time.Now().Add(time.Minute)),
		}
		if err := store.EnqueueFill(t.Context(), wanted); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		end  cache.QueueEnd
		want query.Voter
	}{{cache.Newest, "third"}, {cache.Oldest, "first"}, {cache.Oldest, "second"}} {
		got, err := store.DequeueFill(t.Context(), c.end, time.Second)
		var page query.Profile
		if err := errors.Join(err, got.Page.Decode(&page)); err != nil || page.Voter != c.want {
			t.Errorf("the %s: got %s (%v), want %s", c.end, page.Voter, err, c.want)
		}
	}
}
