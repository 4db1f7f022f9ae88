package cache_test

import (
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/governance"
)

func TestRequestsAreTakenFromEitherEndOfTheQueue(t *testing.T) {
	t.Parallel()
	store := openEmbedded(t)
	for _, voter := range []string{"first", "second", "third"} {
		wanted := cache.Fill{
			Page:     cache.PageRequest{Kind: cache.ProfilePage, Subject: voter, Limit: cache.ShortPage},
			Deadline: governance.TimestampOf(time.Now().Add(time.Minute)),
		}
		if err := store.EnqueueFill(t.Context(), wanted); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		end  cache.QueueEnd
		want string
	}{{cache.Newest, "third"}, {cache.Oldest, "first"}, {cache.Oldest, "second"}} {
		got, err := store.DequeueFill(t.Context(), c.end, time.Second)
		if err != nil || got.Page.Subject != c.want {
			t.Errorf("the %s: got %s (%v), want %s", c.end, got.Page.Subject, err, c.want)
		}
	}
}
