package api

import (
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/test/env"
)

// testCopies are a node's own copies of answers that do not expire.
type testCopies struct{ *localCopies }

// newCopies returns empty copies, for the duration of a test, and what drops them.
func newCopies(t *testing.T) (testCopies, *publicationWatcher) {
	t.Helper()
	c := newLocalCopies(defaultLocalBytes, time.Hour)
	t.Cleanup(c.close)
	return testCopies{c}, &publicationWatcher{changed: c.drop, republished: func() {}}
}

// keep keeps an answer with some tags, which was read since begun.
func (c testCopies) keep(key string, begun uint64, tags ...cache.Tag) {
	c.set(key, &rendered{tags: tags}, begun)
}

func (c testCopies) has(key string) bool {
	_, found := c.get(key)
	return found
}

// tagsOfDetail are the tags of an answer about one DAO.
func tagsOfDetail(id string) []cache.Tag { return []cache.Tag{cache.DAOTag(id)} }

func TestCopySurvivesPublicationsOfOtherThings(t *testing.T) {
	t.Parallel()
	copies, _ := newCopies(t)
	copies.keep("ens", copies.begin(), tagsOfDetail("ens")...)
	copies.keep("uniswap", copies.begin(), tagsOfDetail("uniswap")...)
	copies.keep("a voter", copies.begin(), cache.VoterTag("0xa"))
	copies.drop(cache.DAOTag("uniswap"), cache.StatusTag)
	for key, want := range map[string]bool{"ens": true, "uniswap": false, "a voter": false} {
		env.Want(t, want, copies.has(key), "copy of", key, "after a publication of uniswap")
	}
	copies.drop(cache.EverythingTag)
	if copies.has("ens") {
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
			copies, _ := newCopies(t)
			begun := copies.begin()
			copies.drop(c.dropped...)
			copies.drop(cache.StatusTag) // what came before is not forgotten
			copies.keep("ens", begun, tagsOfDetail("ens")...)
			env.Want(t, c.want, copies.has("ens"), "copy of an answer read before a drop")
			copies.keep("ens", copies.begin(), tagsOfDetail("ens")...)
			if !copies.has("ens") {
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
			copies, watcher := newCopies(t)
			for _, id := range []string{"ens", "uniswap"} {
				copies.keep(id, copies.begin(), tagsOfDetail(id)...)
			}
			for _, n := range c.received {
				watcher.receive(n)
			}
			if copies.has("uniswap") {
				t.Error("a copy of what was published is still there")
			}
			env.Want(t, c.want, copies.has("ens"), "copy of something else")
		})
	}
}

// A node that is told nothing, because it was paused or its subscription hangs, compares
// the number of the last notification with what it has received.
func TestPollFindsLostNotifications(t *testing.T) {
	t.Parallel()
	redisURL := env.EmbeddedRedis(t)
	store := env.Store(t, redisURL)
	env.MustDo(t, env.Announce(t.Context(), store, 1))
	copies, watcher := newCopies(t)
	watcher.store = store
	polled := watcher.poll(t.Context(), 0)
	poll := func() { polled = watcher.poll(t.Context(), polled) }
	keep := func() { copies.keep("ens", copies.begin(), tagsOfDetail("ens")...) }
	keep()
	if poll(); !copies.has("ens") {
		t.Error("a poll that finds nothing new drops copies")
	}
	env.MustDo(t, store.Notify(t.Context(), tagsOfDetail("uniswap")))
	if poll(); copies.has("ens") {
		t.Error("a notification that was never received leaves copies")
	}
	keep()
	if poll(); !copies.has("ens") {
		t.Error("the same notification is missed twice")
	}
	env.MustDo(t, store.Notify(t.Context(), tagsOfDetail("uniswap")))
	_, number, err := store.PublicationProgress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	watcher.receive(cache.Notification{Number: number, Tags: tagsOfDetail("uniswap")})
	if poll(); !copies.has("ens") {
		t.Error("a notification that was received counts as missed")
	}
	// A worker of an earlier version does not count its notifications.
	published := env.Must(store.PublicationState(t.Context()))(t)
	published.Revision++
	env.MustDo(t, env.AnnounceState(t.Context(), store, published))
	if poll(); copies.has("ens") {
		t.Error("a publication without a notification leaves copies")
	}
	keep()
	env.FlushRedis(t, env.RedisClient(t, redisURL))
	env.MustDo(t, env.AnnounceState(t.Context(), store, published))
	if poll(); copies.has("ens") {
		t.Error("a Redis that was flushed leaves copies")
	}
}
