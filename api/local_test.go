package api_test

import (
	"testing"

	"pnyx/api"
	"pnyx/cache"
	"pnyx/test/env"
)

// tagsOfDetail are the tags of an answer about one DAO.
func tagsOfDetail(id string) []cache.Tag { return []cache.Tag{cache.DAOTag(id)} }

func TestCopySurvivesPublicationsOfOtherThings(t *testing.T) {
	t.Parallel()
	copies := api.NewCopies(t)
	copies.Set("ens", tagsOfDetail("ens"), copies.Begin())
	copies.Set("uniswap", tagsOfDetail("uniswap"), copies.Begin())
	copies.Set("a voter", []cache.Tag{cache.VoterTag("0xa")}, copies.Begin())
	copies.Drop(cache.DAOTag("uniswap"), cache.StatusTag)
	for key, want := range map[string]bool{"ens": true, "uniswap": false, "a voter": false} {
		if got := copies.Has(key); got != want {
			t.Errorf("copy of %s after a publication of uniswap: got %t, want %t", key, got, want)
		}
	}
	copies.Drop(cache.EverythingTag)
	if copies.Has("ens") {
		t.Error("a copy survives a publication of everything")
	}
}

func TestAnswerReadBeforeAPublicationIsNotKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dropped []cache.Tag
		want    bool
	}{
		"nothing":    {nil, true},
		"of others":  {tagsOfDetail("uniswap"), true},
		"of its own": {tagsOfDetail("ens"), false},
		"everything": {[]cache.Tag{cache.EverythingTag}, false},
		"too many":   {make([]cache.Tag, 30_000), false},
	} {
		t.Run(name, func(t *testing.T) {
			copies := api.NewCopies(t)
			begun := copies.Begin()
			copies.Drop(c.dropped...)
			copies.Drop(cache.StatusTag) // what came before is not forgotten
			copies.Set("ens", tagsOfDetail("ens"), begun)
			if got := copies.Has("ens"); got != c.want {
				t.Errorf("copy of an answer read before a drop: got %t, want %t", got, c.want)
			}
			copies.Set("ens", tagsOfDetail("ens"), copies.Begin())
			if !copies.Has("ens") {
				t.Error("an answer read after all drops is not kept")
			}
		})
	}
}

// Each case is what a node receives between two answers. After it, a copy of what was
// published must be gone; a copy of anything else stays only if no message can be missing.
func TestLostNotificationsDropAllCopies(t *testing.T) {
	t.Parallel()
	of := func(number uint64, id string) cache.Notification {
		return cache.Notification{Number: number, Tags: tagsOfDetail(id)}
	}
	for name, c := range map[string]struct {
		received []cache.Notification
		want     bool
	}{
		"in order":               {[]cache.Notification{of(1, "uniswap"), of(2, "uniswap")}, true},
		"the first is lost":      {[]cache.Notification{of(2, "uniswap")}, false},
		"one between is lost":    {[]cache.Notification{of(1, "uniswap"), of(3, "uniswap")}, false},
		"reordered":              {[]cache.Notification{of(2, "uniswap"), of(1, "uniswap")}, false},
		"the count starts again": {[]cache.Notification{of(1, "uniswap"), of(2, "uniswap"), of(1, "uniswap")}, false},
		"reconnected":            {[]cache.Notification{of(1, "uniswap"), {}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			copies := api.NewCopies(t)
			for _, id := range []string{"ens", "uniswap"} {
				copies.Set(id, tagsOfDetail(id), copies.Begin())
			}
			for _, n := range c.received {
				copies.Receive(n)
			}
			if copies.Has("uniswap") {
				t.Error("a copy of what was published is still there")
			}
			if got := copies.Has("ens"); got != c.want {
				t.Errorf("copy of something else: got %t, want %t", got, c.want)
			}
		})
	}
}

// A node that is told nothing, because it was paused or its subscription hangs, compares
// the number of the last notification with what it has received.
func TestPollFindsLostNotifications(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	copies := api.NewCopies(t)
	copies.Poll(t.Context(), n.store)
	keep := func() {
		t.Helper()
		copies.Set("ens", tagsOfDetail("ens"), copies.Begin())
	}
	keep()
	if copies.Poll(t.Context(), n.store); !copies.Has("ens") {
		t.Error("a poll that finds nothing new drops copies")
	}
	if err := n.store.Notify(t.Context(), tagsOfDetail("uniswap")); err != nil {
		t.Fatal(err)
	}
	if copies.Poll(t.Context(), n.store); copies.Has("ens") {
		t.Error("a notification that was never received leaves copies")
	}
	keep()
	if copies.Poll(t.Context(), n.store); !copies.Has("ens") {
		t.Error("the same notification is missed twice")
	}
	if err := n.store.Notify(t.Context(), tagsOfDetail("uniswap")); err != nil {
		t.Fatal(err)
	}
	_, number, err := n.store.PublicationProgress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	copies.Receive(cache.Notification{Number: number, Tags: tagsOfDetail("uniswap")})
	if copies.Poll(t.Context(), n.store); !copies.Has("ens") {
		t.Error("a notification that was received counts as missed")
	}
	// A worker of an earlier version does not count its notifications.
	published, err := n.store.PublicationState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	published.Revision++
	n.setPublished(published)
	if copies.Poll(t.Context(), n.store); copies.Has("ens") {
		t.Error("a publication without a notification leaves copies")
	}
	keep()
	env.FlushRedis(t, env.RedisClient(t, n.redisURL))
	n.setPublished(published)
	if copies.Poll(t.Context(), n.store); copies.Has("ens") {
		t.Error("a Redis that was flushed leaves copies")
	}
}

func TestNodesReceiveWhatAPublicationChanged(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	received := make(chan cache.Notification, 10)
	connected := make(chan struct{})
	go n.store.Subscribe(t.Context(), func(got cache.Notification) {
		if got.Number == 0 {
			close(connected)
			return
		}
		received <- got
	})
	<-connected
	_, before, err := n.store.PublicationProgress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	writer := n.store.NewWriter(2)
	if err := writer.RemoveView(t.Context(), cache.DAODetailKey("ens")); err != nil {
		t.Fatal(err)
	}
	if err := n.store.Notify(t.Context(), writer.Changed()); err != nil {
		t.Fatal(err)
	}
	got := <-received
	if got.Number != before+1 || len(got.Tags) != 1 || got.Tags[0] != cache.DAOTag("ens") {
		t.Errorf("got %+v, want notification %d, of ens", got, before+1)
	}
}
