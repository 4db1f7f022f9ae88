package forum_test

import (
	"fmt"
	"testing"
	"time"

	"pnyx/governance"
	"pnyx/test/env"
	upstream "pnyx/test/upstream/forum"
	"pnyx/warehouse/records"
)

func TestAForumIsReadFromItsNewestTopicOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 65 {
		topic := f.AddTopic(1, fmt.Sprint("Topic ", i+1), "ada", "<p>one</p>", "budget", "grants")
		f.Reply(topic, "bob", "<p>two</p>")
		f.clock.Step(time.Minute)
	}
	if more, err := f.Pollers["backfill"].Run(t.Context()); err != nil || !more {
		t.Fatalf("got more %t, %v; want more pages", more, err)
	}
	if got := f.shown(); len(got) != 30 || got[0].ExternalID != "36" {
		t.Errorf("got %d topics from %s on, want the newest 30", len(got), got[0].ExternalID)
	}
	if got := f.cursor("backfill"); got.State != governance.SourceBackfilling || got.Done != 30 || got.Total != 65 {
		t.Errorf("got %s, %d of %d; want backfilling, 30 of 65", got.State, got.Done, got.Total)
	}
	f.restart()
	f.Poll("backfill")
	f.wantTruth()
	if got := f.cursor("backfill"); got.State != governance.SourceLive || got.Done != got.Total {
		t.Errorf("got %s, %d of %d; want live and all", got.State, got.Done, got.Total)
	}
	env.Want(t, 65, f.fetches(), "topics fetched", "each of 65 once")
}

func TestNewPostsAreReadByTheirIDs(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]bool{"new version": false, "old version, windows of ids": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.Switch(func(s *upstream.Switches) { s.OldPosts = old })
			first, second := f.AddTopic(1, "Renew", "ada", "<p>one</p>"), f.AddTopic(1, "Budget", "ada", "<p>one</p>")
			f.Poll("log")
			f.wantTruth()
			f.Reply(first, "bob", "<p>two</p>")
			f.Message(130) // of which whole windows are empty
			f.Reply(second, "bob", "<p>two</p>")
			f.Message(1)
			f.DeletePost(f.Reply(second, "eve", "<p>spam</p>"))
			f.AddTopic(1, "Grants", "bob", "<p>one</p>")
			f.Poll("log")
			f.wantTruth()
			before := f.fetches()
			f.Poll("log")
			env.Want(t, before, f.fetches(), "topics fetched again")
		})
	}
}

func TestMorePostsThanARunReadsAreLeftToTheSweep(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Switch(func(s *upstream.Switches) { s.OldPosts = true })
	old := f.AddTopic(1, "Renew", "ada", "<p>one</p>")
	f.Poll("log", "backfill", "sweep")
	f.Reply(old, "bob", "<p>two</p>")
	f.Message(1100)
	f.AddTopic(1, "Grants", "bob", "<p>one</p>")
	f.clock.Step(time.Minute)
	f.Poll("log")
	env.Want(t, 1, f.topic(old).Posts, "posts", "the old topic not read yet")
	f.restart()
	f.Poll("sweep")
	f.wantTruth()
}

func TestChangesWithoutAPostAreSeenInTheLatestActivity(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.AddCategory("Grants", 0)
	topics := make([]int, 8)
	for i := range topics {
		topics[i] = f.AddTopic(1, fmt.Sprint("Topic ", i+1), "ada", "<p>one</p>")
		f.clock.Step(time.Second)
	}
	deleted := f.Reply(topics[6], "bob", "<p>two</p>")
	f.Poll("backfill", "log", "watch")
	f.wantTruth()
	f.clock.Step(time.Minute)
	for _, test := range []struct {
		name   string
		change func()
	}{
		{"title", func() { f.Retitle(topics[0], "Renewed") }},
		{"category", func() { f.Move(topics[1], 2) }},
		{"closed", func() { f.Close(topics[2]) }},
		{"archived", func() { f.Archive(topics[3]) }},
		{"tags", func() { f.Tag(topics[4], "budget") }},
		{"an edit that bumps", func() { f.EditFirst(topics[5], "<p>edited</p>"); f.Bump(topics[5]) }},
		{"a deleted post, whose bump goes back", func() { f.DeletePost(deleted) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := f.fetches()
			test.change()
			f.Poll("watch", "watch")
			f.wantTruth()
			env.Want(t, 1, f.fetches()-before, "topics fetched", "the one that changed, once")
		})
	}
}

func TestABumpBeforeARestartIsSeen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	topic := f.AddTopic(1, "Renew", "ada", "<p>one</p>")
	f.AddTopic(1, "Budget", "ada", "<p>one</p>")
	f.Poll("backfill", "watch")
	f.clock.Step(time.Hour)
	f.EditFirst(topic, "<p>edited</p>")
	f.Bump(topic)
	f.restart()
	f.Poll("watch")
	f.wantTruth()
}

func TestATopicThatLeavesTheFirstPageIsSeen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addTopics(40, time.Second)
	post := f.Reply(1, "bob", "<p>two</p>")
	f.Poll("backfill", "watch")
	f.wantTruth()
	f.DeletePost(post) // which puts the topic on the last page
	f.Delete(39)
	f.Hide(38)
	before := f.fetches()
	f.Poll("watch", "watch")
	env.Want(t, 3, f.fetches()-before, "topics fetched", "the three that left, once")
	f.clock.Step(time.Hour)
	f.Poll("missing")
	f.wantTruth()
}

func TestPinnedTopicsDoNotEndTheReadingOfActivity(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addTopics(40, time.Second)
	f.Pin(1)
	f.Poll("backfill", "watch")
	f.clock.Step(time.Hour)
	for id := 2; id <= 40; id++ {
		f.Bump(id)
		f.Retitle(id, fmt.Sprint("Renewed ", id))
		f.clock.Step(time.Second)
	}
	f.Poll("watch")
	f.wantTruth()
}

func TestEditsOfYoungTopicsAreFoundWithinAnHour(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old := f.AddTopic(1, "Old", "ada", "<p>one</p>")
	f.clock.Step(31 * 24 * time.Hour)
	young := f.AddTopic(1, "Young", "ada", "<p>one</p>")
	f.Poll("backfill", "sweep")
	f.EditFirst(young, "<p>edited</p>")
	asked := f.Requests(fmt.Sprintf("/t/%d.json", old))
	f.clock.Step(50 * time.Minute)
	f.Poll("sweep")
	env.Want(t, "<p>one</p>", f.topic(young).BodyHTML, "the edit not read yet")
	f.clock.Step(10 * time.Minute)
	f.Poll("sweep")
	f.wantTruth()
	env.Want(t, asked, f.Requests(fmt.Sprintf("/t/%d.json", old)), "requests for the old topic")
}

func TestLikesAndViewsFollowDailyWithoutARequestEach(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var reply int
	for i := range 35 {
		reply = f.Reply(f.AddTopic(1, fmt.Sprint("Topic ", i+1), "ada", "<p>one</p>"), "bob", "<p>two</p>")
	}
	f.clock.Step(40 * 24 * time.Hour)
	f.Poll("backfill", "sweep")
	before := f.fetches()
	f.Like(reply, 3)
	f.View(1, 9)
	f.clock.Step(24 * time.Hour)
	f.Poll("sweep")
	f.wantTruth()
	env.Want(t, before, f.fetches(), "topics fetched")
	env.Want(t, 0, f.cursor("sweep").Gaps, "gaps")
}

func TestASweepByAClockThatWentBackIsNone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addTopics(2, time.Hour)
	f.Poll(order()...)
	for poller, position := range map[string]string{"log": `{"post":2,"left":"2098-01-01T00:00:00Z"}`, "sweep": `{"swept":"2099-01-01T00:00:00Z","young":"2099-01-01T00:00:00Z"}`} {
		cursor := f.cursor(poller)
		cursor.Position = position
		env.MustDo(t, f.Journal.Commit(t.Context(), nil, cursor))
	}
	f.View(1, 9)
	f.Poll("sweep")
	f.wantTruth()
}

func TestATopicThatMovedToAnEarlierPageIsFoundBySweepAndCounted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addTopics(40, time.Hour)
	env.Must(f.Pollers["backfill"].Run(t.Context()))(t)
	f.Delete(40) // topic 10 moves to the page that has been read
	f.Poll("backfill")
	f.Poll("sweep")
	env.Want(t, 1, f.cursor("sweep").Gaps, "gaps")
	f.clock.Step(time.Hour)
	f.Poll("missing")
	f.wantTruth()
}

func TestADeletedTopicIsWithdrawnWhenItIsStillGoneWithinAnHour(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]func(*upstream.Switches){
		"404": func(*upstream.Switches) {}, "410": func(s *upstream.Switches) { s.Gone = true }, "merged": func(s *upstream.Switches) { s.Merged = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.Switch(gone)
			f.AddTopic(1, "Renew", "ada", "<p>one</p>")
			topic := f.AddTopic(1, "Spam", "eve", "<p>one</p>")
			f.Poll("backfill", "sweep")
			f.Delete(topic)
			f.clock.Step(24 * time.Hour)
			f.Poll("sweep", "missing")
			before := f.fetches()
			for range 9 {
				f.clock.Step(5 * time.Minute)
				f.restart()
				f.Poll("missing")
			}
			if got := f.topic(topic); got.Withdrawn || !got.Visible {
				t.Error("got the topic withdrawn after 45 minutes, want it looked at further")
			}
			env.Want(t, 4, f.fetches()-before, "looks in 45 minutes", "one every ten")
			f.clock.Step(5 * time.Minute)
			f.Poll("missing")
			got := f.topic(topic)
			if !got.Withdrawn || got.Visible || got.Title != "Spam" || got.BodyHTML != "<p>one</p>" {
				t.Errorf("got %+v, want the topic withdrawn with its last content", got)
			}
			env.Want(t, 1, f.cursor("missing").Withdrawn, "withdrawn counted")
			f.wantTruth()
			f.Restore(topic)
			f.Poll("watch")
			f.wantTruth()
		})
	}
}

func TestATopicThatComesBackWithinTheHourStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.AddTopic(1, "Renew", "ada", "<p>one</p>")
	topic := f.AddTopic(1, "Grants", "ada", "<p>one</p>")
	f.Poll("backfill", "sweep")
	f.Delete(topic)
	f.clock.Step(time.Hour)
	f.Poll("sweep") // the hourly reading of young topics
	f.Restore(topic)
	f.clock.Step(time.Hour)
	f.Poll("missing")
	f.wantTruth()
	if got := f.cursor("missing"); got.Withdrawn != 0 || got.Position != `{"since":{}}` {
		t.Errorf("got %d withdrawn, position %s; want none suspected", got.Withdrawn, got.Position)
	}
}

func TestPrivateAndUnlistedTopicsAreNotVisible(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		hide, show func(f *fixture, id int)
	}{
		{"private", func(f *fixture, id int) { f.Hide(id) }, nil},
		{"unlisted", func(f *fixture, id int) { f.Unlist(id, true) }, func(f *fixture, id int) { f.Unlist(id, false) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.AddTopic(1, "Renew", "ada", "<p>one</p>")
			topic := f.AddTopic(1, "Team", "ada", "<p>one</p>")
			f.clock.Step(60 * 24 * time.Hour)
			f.Poll("backfill", "sweep")
			test.hide(f, topic)
			f.clock.Step(24 * time.Hour)
			f.Poll("sweep")
			f.wantTruth()
			if got := f.topic(topic); got.Visible || got.Withdrawn != (test.show == nil) || (got.BodyHTML == "") != got.Withdrawn {
				t.Errorf("got %+v, want a private one withheld, an unlisted one as it was, not visible", got)
			}
			if test.show != nil {
				test.show(f, topic)
				f.Poll("watch")
				f.wantTruth()
			}
		})
	}
}

func TestHiddenPostsThatAreShownLaterCount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	topic := f.AddTopic(1, "Renew", "ada", "<p>one</p>")
	hidden := f.Reply(topic, "bob", "<p>two</p>")
	f.HidePost(hidden, true)
	f.Reply(f.AddTopic(1, "Budget", "ada", "<p>one</p>"), "bob", "<p>two</p>")
	f.Poll("log", "backfill", "watch")
	f.HidePost(hidden, false) // its id is below the cursor
	f.Poll("log", "watch")
	f.wantTruth()
}

func TestCategoriesAndTheirNamesFollowHourly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.AddCategory("Grants", 1)
	f.AddTopic(2, "Renew", "ada", "<p>one</p>")
	f.Poll("categories", "backfill")
	category := func() string {
		topics, err := records.Topics(t.Context(), f.warehouse, []records.TopicRef{{Host: host, ExternalID: "1"}})
		if err != nil || len(topics) != 1 {
			t.Fatalf("got %d topics (%v), want one", len(topics), err)
		}
		return topics[0].Category
	}
	env.Want(t, "Grants", category(), "category")
	f.RenameCategory(2, "Funding")
	f.Poll("categories")
	env.Want(t, "Funding", category(), "category that was renamed")
}

func TestTagsInEitherFormAreTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.AddTopic(1, "Renew", "ada", "<p>one</p>", "budget", "grants")
	f.Switch(func(s *upstream.Switches) { s.TextTags = true })
	f.Poll("backfill", "watch")
	f.wantTruth()
	before := f.fetches()
	f.Switch(func(s *upstream.Switches) { s.TextTags = false })
	f.restart()
	f.Poll("watch")
	f.wantTruth()
	env.Want(t, before, f.fetches(), "topics fetched for another form of tags")
}

// TestAKeyWidensNothing follows with a key to which the forum shows everything.
func TestAKeyWidensNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.key = "k3y"
	f.Switch(func(s *upstream.Switches) { s.Staff = true })
	f.restart()
	staff := f.AddCategory("Staff", 0)
	f.Restrict(staff, true)
	f.AddTopic(1, "Renew", "ada", "<p>one</p>")
	for range 3 {
		f.AddTopic(staff, "Salaries", "eve", "<p>secret</p>")
	}
	f.Poll("log", "watch", "backfill", "sweep")
	f.wantTruth()
	for _, secret := range []string{"2", "3", "4"} {
		if f.Requests("/t/"+secret+".json") > 0 {
			t.Errorf("topic %s is read, of a category that is restricted", secret)
		}
	}

	became := map[string]int{}
	for name, change := range map[string]func(id int){
		"deleted": f.Delete, "a private message": f.Hide, "moved": func(id int) { f.Move(id, staff) },
	} {
		became[name] = f.AddTopic(1, "Plans "+name, "ada", "<p>secret</p>")
		f.Poll("log")
		change(became[name])
	}
	late := f.AddCategory("Board", 0)
	became["of a category that became restricted"] = f.AddTopic(late, "Board", "ada", "<p>secret</p>")
	f.Poll("log")
	f.Restrict(late, true)
	f.clock.Step(time.Hour)
	f.Poll("categories", "watch", "sweep")
	f.wantTruth()
	for name, id := range became {
		if got := f.topic(id); !got.Withdrawn || got.Visible || got.Title != "" || got.BodyHTML != "" {
			t.Errorf("%s: got %+v, want it withheld", name, got)
		}
	}

	f.Restrict(late, false)
	f.clock.Step(24 * time.Hour)
	f.Poll("categories", "watch", "sweep")
	f.wantTruth()
}
