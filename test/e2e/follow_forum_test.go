package e2e_test

import (
	"encoding/json"
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
// nothing.
func followForum(t *testing.T, fill func(*forum.Forum)) *followedForum {
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
	f.instance = start(t, t.TempDir(), []string{"PNYX_SOURCES=" + file}, "serve").ready()
	return f
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

// TestForumIsFollowedFromNothing reads the past of a forum, and after a restart what
// happened meanwhile.
func TestForumIsFollowedFromNothing(t *testing.T) {
	t.Parallel()

	f := followForum(t, func(upstream *forum.Forum) {
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
