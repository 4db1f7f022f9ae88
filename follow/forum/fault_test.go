package forum_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"pnyx/test/env"
	upstream "pnyx/test/upstream/forum"
)

func TestAForumThatRefusesIsLeftAloneUntilItSaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.AddTopic(1, "Renew", "ada", "<p>one</p>")
	f.Switch(func(s *upstream.Switches) { s.Limited = true })
	for range 60 { // someone else at the same address
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		request.RemoteAddr = "127.0.0.1:1"
		f.ServeHTTP(httptest.NewRecorder(), request)
	}
	until := wantLimited(t, f.TryPoll(t.Context(), "log"))
	before := f.Requests("/posts.json")
	wantLimited(t, f.TryPoll(t.Context(), "watch"))
	wantLimited(t, f.TryPoll(t.Context(), "log"))
	if got := f.Requests("/posts.json"); got != before || f.Requests("/latest.json") != 0 {
		t.Error("got a request while none is allowed")
	}
	f.clock.Step(until.Sub(f.clock.Now()))
	f.Poll("log")
	f.wantTruth()
}

func TestANameWithAContactIsNoCrawlers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.AddTopic(1, "Renew", "ada", "<p>one</p>")
	f.Switch(func(s *upstream.Switches) { s.CrawlerRequests = 1 })
	f.Poll("log", "watch")
	f.wantTruth()
}

func TestAnAnswerFromTheCacheIsAskedForAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	topic := f.AddTopic(1, "Renew", "ada", "<p>one</p>")
	f.Poll("log")
	f.Switch(func(s *upstream.Switches) { s.Cached = true })
	f.Retitle(topic, "Renewed")
	f.Poll("watch") // the topic is in the forum's cache from now on
	f.clock.Step(5 * time.Second)
	f.Reply(topic, "bob", "<p>two</p>")
	f.Poll("log")
	env.Want(t, 1, f.topic(topic).Posts, "posts", "the cached answer")
	f.restart()
	f.clock.Step(time.Minute)
	f.Poll("log")
	f.wantTruth()
	before := f.fetches()
	f.clock.Step(time.Minute)
	f.Poll("log")
	env.Want(t, before, f.fetches(), "topics fetched again")
}

func TestAChangeThatTheCacheHidesIsSeenLater(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	topic := f.AddTopic(1, "Renew", "ada", "<p>one</p>")
	f.Poll("log", "watch")
	f.Switch(func(s *upstream.Switches) { s.Cached = true })
	f.Reply(topic, "bob", "<p>two</p>")
	f.Poll("log") // the topic is in the forum's cache from now on
	f.Retitle(topic, "Renewed")
	f.Poll("watch")
	env.Want(t, "Renew", f.topic(topic).Title, "title", "the cached answer")
	f.clock.Step(time.Minute)
	f.Poll("watch")
	f.wantTruth()
}

func TestWithinItsLimitsAForumIsReadAndItsChangesReachTheRecordsInTime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, key string
		lag       time.Duration
	}{{"with a key", "secret", 40 * time.Second}, {"without a key", "", 95 * time.Second}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.key = test.key
			f.restart()
			f.Switch(func(s *upstream.Switches) { s.Limited, s.Cached = true, true })
			f.addTopics(150, 0)
			f.follow(10 * time.Minute)
			f.wantTruth()
			for i := range 5 {
				topic := f.AddTopic(1, fmt.Sprint("New ", i+1), "ada", "<p>one</p>")
				f.Reply(i+1, "bob", "<p>two</p>")
				f.follow(test.lag)
				f.wantTruth()
				f.Reply(topic, "bob", "<p>two</p>")
				f.follow(test.lag)
				f.wantTruth()
			}
			env.Want(t, 0, f.answers[429].Load(), "refused requests")
		})
	}
}

func TestAQuietForumIsAskedByThePollsAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addTopics(40, 0)
	f.clock.Step(60 * 24 * time.Hour)
	f.follow(30 * time.Minute)
	f.wantTruth()
	log, watch, fetched := f.Requests("/posts.json"), f.Requests("/latest.json"), f.fetches()
	f.follow(time.Hour)
	if got := f.Requests("/posts.json") - log; got > 121 {
		t.Errorf("got %d polls of posts in an hour, want one each 30 s", got)
	}
	if got := f.Requests("/latest.json") - watch; got > 61 {
		t.Errorf("got %d polls of topics in an hour, want one each 60 s", got)
	}
	env.Want(t, 0, f.fetches()-fetched, "topics fetched")
}

func TestPagesOfOthersAreFailuresOfThePollAndChangeNothing(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*upstream.Switches){
		"HTML under 200": func(s *upstream.Switches) { s.Challenge = 200 },
		"HTML under 403": func(s *upstream.Switches) { s.Challenge = 403 },
		"HTML under 503": func(s *upstream.Switches) { s.Challenge = 503 },
		"502":            func(s *upstream.Switches) { s.Rebuilding = true },
		"moved to a private address": func(s *upstream.Switches) {
			s.MovedTo = "http://127.0.0.2:9"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.AddTopic(1, "Renew", "ada", "<p>one</p>")
			f.follow(time.Minute)
			f.wantTruth()
			f.clock.Step(25 * time.Hour)
			f.restart()
			f.Switch(fault)
			for _, poller := range []string{"log", "watch", "categories", "sweep"} {
				f.FailPoll(poller, "")
			}
			f.clock.Step(2 * time.Hour)
			f.Poll("missing")
			f.wantTruth()
			env.Want(t, 0, env.Rejected(t, f.warehouse, f.followed.Sources()[0]), "rejected")
			f.Switch(func(s *upstream.Switches) { *s = upstream.Switches{} })
			f.clock.Step(time.Hour)
			f.Poll(order()...)
			f.wantTruth()
		})
	}
}

func TestARenamedTopicIsFollowedToItsSlug(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Switch(func(s *upstream.Switches) { s.Slugs = true })
	topic := f.AddTopic(1, "Renew", "ada", "<p>one</p>")
	f.Poll("log")
	f.wantTruth()
	f.Retitle(topic, "Renew again")
	f.Poll("watch")
	f.wantTruth()
	env.Want(t, 2, f.answers[301].Load(), "redirects", "one for each reading")
}

func TestATopicThatCannotBeReadIsCountedAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*upstream.Switches){
		"it is invalid":                func(s *upstream.Switches) { s.Broken = 2 },
		"the forum fails to answer it": func(s *upstream.Switches) { s.Failing = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.addTopics(3, 0)
			f.Switch(spoil)
			f.Poll("backfill", "watch", "watch", "log")
			env.Want(t, 2, len(f.shown()), "topics", "the two others")
			env.Want(t, 1, env.Rejected(t, f.warehouse, f.followed.Sources()[0]), "rejected")
			f.Switch(func(s *upstream.Switches) { *s = upstream.Switches{} })
			f.Poll("watch")
			f.wantTruth()
		})
	}
}

// TestACrashAnywhereLosesNothing stops all pollers at each request of a day with each kind of
// change, and goes on after a restart; then at another request of the next day.
func TestACrashAnywhereLosesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes some seconds")
	}

	for n := int64(1); n < 12; n += 2 {
		t.Run(fmt.Sprint("request ", n), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.addTopics(32, 0)
			f.Poll(order()...)
			for round, at := range []int64{n, n + 12} {
				first := 10 * round
				f.AddTopic(1, fmt.Sprint("New ", round), "ada", "<p>one</p>")
				f.Reply(first+1, "bob", "<p>two</p>")
				f.Retitle(first+2, "Renamed")
				f.Delete(first + 3)
				f.Hide(first + 4)
				f.Unlist(first+5, true)
				f.EditFirst(first+6, "<p>edited</p>")
				f.Like(first+7, 2)
				f.clock.Step(24 * time.Hour)
				f.PollUntil(&f.crash, at, order()...)
				f.restart()
				f.Poll(order()...)
				f.clock.Step(time.Hour)
				f.Poll(order()...)
				f.wantTruth()
				env.Want(t, uint64(round+1), f.cursor("missing").Withdrawn, "withdrawn")
			}
		})
	}
}

func TestCheckSaysWhatAForumHoldsAndCosts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addTopics(65, 0)
	got := f.followed.Check(t.Context())[0]
	if want := `Discourse 3.5.0 forum "Harbor Forum", 65 topics, 65 posts`; got.Is != want || got.Source != host || got.Problem != "" {
		t.Errorf("got %+v, want that it is %s", got, want)
	}
	if want := 2880 + 1440 + 24 + 3 + 65*24; got.RequestsPerDay != want || got.RequestsPerDayBusy != want+65 {
		t.Errorf("got %d and %d requests a day, want %d and %d", got.RequestsPerDay, got.RequestsPerDayBusy, want, want+65)
	}
	env.WantPart(t, "200 requests a minute", got.Limit, "limit")
	f.Switch(func(s *upstream.Switches) { s.Challenge = 200 })
	env.WantPart(t, "not the JSON of a Discourse forum", f.followed.Check(t.Context())[0].Problem, "problem")
}
