package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/test/upstream/forum"
)

// forumHost is the name of the followed forum.
const forumHost = "forum.harbor.example"

// followedForum is a forum of the DAO harbor, and a pnyx that follows it.
type followedForum struct {
	*instance

	forum *forum.Forum
	// categories are the names of the forum's categories, by number.
	categories map[string]string
}

// followForum starts a forum that has what fill adds, and a pnyx that follows it from
// nothing. begin is onShared or onOwn.
func followForum(
	t *testing.T, begin func(*testing.T, []string) *instance, fill func(*forum.Forum),
) *followedForum {
	t.Helper()
	env.RequireEngine(t)
	upstream := forum.New(time.Now)
	f := &followedForum{forum: upstream, categories: map[string]string{}}
	for i, name := range []string{"Proposals", "Grants"} {
		f.categories[strconv.Itoa(upstream.AddCategory(name, i))] = name
	}
	fill(upstream)
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "sources.yaml")
	writeSources(t, file, fmt.Sprintf("contact: test@example.org\nforums:\n  %s: {url: %s, requestsPerMinute: 6000}\n"+
		"daos:\n- {id: harbor, name: Harbor, forums: [%s]}\n", forumHost, server.URL, forumHost))
	f.instance = begin(t, []string{"PNYX_SOURCES=" + file}).ready()
	return f
}

// onShared serves with the shared engine, which stays when the process ends.
func onShared(t *testing.T, environ []string) *instance {
	t.Helper()
	return startShared(t, environ, "serve")
}

// onOwn serves with an engine of its own, which ends with the process.
func onOwn(t *testing.T, environ []string) *instance {
	t.Helper()
	return start(t, t.TempDir(), environ, "serve")
}

// topicText is a topic as the list and the detail answer it, to compare.
type topicText struct {
	Title, Author, Category, Tags, Posts, Replies, Likes, Views, URL string
	CreatedAt                                                        *governance.Timestamp
	Participants, BodyText                                           string
}

// agree waits until the API answers what the forum shows, and returns how long that took.
func (f *followedForum) agree() time.Duration {
	f.TB.Helper()
	began := time.Now()
	env.Until(f.TB, f.difference)
	return time.Since(began)
}

// difference reports the first difference between the API and the forum.
func (f *followedForum) difference() error {
	rows, err := f.Walk("/v2/forum-topics?daoId=harbor", 100)
	if err != nil {
		return err
	}
	got := map[string]topicText{}
	for _, raw := range rows {
		var row governance.ForumTopic
		if err := json.Unmarshal(raw, &row); err != nil {
			return err
		}
		id := row.Identity.ExternalID
		if _, twice := got[id]; twice {
			return fmt.Errorf("topic %s is listed twice", id)
		}
		var detail struct{ BodyText, Participants string }
		if _, err := f.Read("/v2/forum-topics/"+string(row.TopicKey), &detail); err != nil {
			return err
		}
		got[id] = topicText{
			row.Title, orEmpty(row.Author), orEmpty(row.Category), strings.Join(row.Tags, ","), string(row.Posts), string(row.Replies),
			string(row.Likes), string(row.Views), row.URL, row.CreatedAt, detail.Participants, detail.BodyText,
		}
	}
	want := map[string]topicText{}
	for _, topic := range f.forum.Truth(forumHost) {
		want[topic.ExternalID] = topicText{
			topic.Title, topic.Author, f.categories[topic.CategoryID], strings.Join(topic.Tags, ","), fmt.Sprint(topic.Posts),
			fmt.Sprint(topic.Posts - 1), fmt.Sprint(topic.Likes), fmt.Sprint(topic.Views), topic.URL(), topic.CreatedAt,
			fmt.Sprint(*topic.Participants), strings.NewReplacer("<p>", "", "</p>", "").Replace(topic.BodyHTML),
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("-forum +API\n%s", diff)
	}
	return nil
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// later ends the process, lets the waits of a lane seem to be over, and starts it again.
func (f *followedForum) later(lane string) {
	f.TB.Helper()
	f.Stop()
	err := f.Warehouse().Exec(f.TB.Context(), `INSERT INTO follows
		SELECT * REPLACE (replaceRegexpAll(position, '"20[0-9]{2}-', '"2020-') AS position, version + 1 AS version)
		FROM follows FINAL WHERE lane = '`+lane+`'`)
	if err != nil {
		f.TB.Fatal(err)
	}
	f.Start()
}

// suspected waits until topics have been missed once.
func (f *followedForum) suspected(ids ...int) {
	f.TB.Helper()
	env.Until(f.TB, func() error {
		position := strings.Join(f.Column("SELECT position FROM follows FINAL WHERE lane = 'missing'"), "")
		for _, id := range ids {
			if !strings.Contains(position, fmt.Sprintf(`"%d":`, id)) {
				return fmt.Errorf("got missed topics %q, want %d among them", position, id)
			}
		}
		return nil
	})
}

// TestForumIsFollowedFromNothing reads the past of a forum, and after a restart what
// happened meanwhile.
func TestForumIsFollowedFromNothing(t *testing.T) {
	t.Parallel()

	f := followForum(t, onOwn, func(upstream *forum.Forum) {
		for i := range 45 {
			topic := upstream.AddTopic(i%2+1, fmt.Sprint("Topic ", i+1), "ada", "<p>one</p>", "budget")
			upstream.Like(upstream.Reply(topic, "bob", "<p>two</p>"), i)
		}
	})
	t.Logf("the past shows over HTTP after %s", f.agree())
	f.Stop()
	f.forum.AddTopic(1, "New", "eve", "<p>new</p>", "grants")
	f.forum.Reply(1, "eve", "<p>three</p>")
	f.forum.Retitle(2, "Renamed")
	f.forum.Move(3, 2)
	f.forum.Tag(4, "season-2")
	f.Start()
	t.Logf("changes show over HTTP after %s", f.agree())
}

// TestSourcesForumChangesReachTheAPI makes each kind of change, and waits for it.
func TestSourcesForumChangesReachTheAPI(t *testing.T) {
	t.Parallel()
	env.Sources(t)

	f := followForum(t, onShared, func(upstream *forum.Forum) {
		for i := range 35 {
			upstream.AddTopic(1, fmt.Sprint("Topic ", i+1), "ada", "<p>one</p>")
		}
	})
	f.agree()
	var post int
	for _, step := range []struct {
		name, lane string
		do         func()
	}{
		{"a topic", "", func() { f.forum.AddTopic(2, "New", "bob", "<p>one</p>", "budget") }},
		{"a post", "", func() { post = f.forum.Reply(1, "bob", "<p>two</p>") }},
		{"another title", "", func() { f.forum.Retitle(35, "Renamed") }},
		{"a deleted post", "", func() { f.forum.DeletePost(post) }},
		{"an edit of a first post", "sweep", func() { f.forum.EditFirst(3, "<p>edited</p>") }},
		{"likes and views", "sweep", func() { f.forum.Like(4, 3); f.forum.View(5, 7) }},
		{"a private and an unlisted topic", "sweep", func() { f.forum.Hide(6); f.forum.Unlist(7) }},
		{"a topic that is listed again", "sweep", func() { f.forum.List(7) }},
	} {
		step.do()
		if step.lane != "" {
			f.later(step.lane)
		}
		t.Logf("%s shows over HTTP after %s", step.name, f.agree())
	}
	f.forum.Delete(8)
	f.later("sweep")
	f.suspected(8)
	f.later("missing")
	t.Logf("a deletion shows over HTTP after %s", f.agree())
	f.forum.Restore(8) // below the first page of activity
	f.later("sweep")
	t.Logf("a restored topic shows over HTTP after %s", f.agree())
}

// TestSourcesForumFollowerKilledAmidChangesLosesNothing kills the process again and again while
// people write.
func TestSourcesForumFollowerKilledAmidChangesLosesNothing(t *testing.T) {
	t.Parallel()
	env.Sources(t)

	f := followForum(t, onOwn, func(upstream *forum.Forum) {
		for i := range 60 {
			upstream.AddTopic(1, fmt.Sprint("Topic ", i+1), "ada", "<p>one</p>")
		}
	})
	f.Kill()
	for kill := range 6 {
		for i := range 30 {
			f.forum.Reply(1+(7*i+kill)%60, "bob", "<p>two</p>")
			f.forum.Retitle(1+(11*i+kill)%60, fmt.Sprint("Renamed ", kill, " ", i))
		}
		f.forum.AddTopic(2, fmt.Sprint("New ", kill), "eve", "<p>new</p>")
		asked := f.forum.Requests("/latest.json")
		f.Start()
		env.Until(t, func() error { // it is at work
			if f.forum.Requests("/latest.json") == asked {
				return errors.New("nothing asked for yet")
			}
			return nil
		})
		f.Kill()
	}
	f.Start()
	t.Logf("everything shows over HTTP after %s", f.agree())
}
