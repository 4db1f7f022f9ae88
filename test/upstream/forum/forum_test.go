package forum_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/clock"
	"pnyx/test/check"
	"pnyx/test/upstream/forum"
)

// fixture is a forum with a clock and one category.
type fixture struct {
	*forum.Forum

	t     *testing.T
	clock *clock.Clock
}

func newForum(t *testing.T) *fixture {
	t.Helper()
	c := clock.Stepping(time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC))
	f := &fixture{forum.New(c.Now), t, c}
	f.AddCategory("Proposals", 0)
	return f
}

// answer is what the forum sent.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// get asks the forum; headers are name and value in turn.
func (f *fixture) get(path string, headers ...string) answer {
	f.t.Helper()
	request := httptest.NewRequestWithContext(f.t.Context(), http.MethodGet, path, http.NoBody)
	request.Header.Set("User-Agent", "pnyx (ops@example.org)")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	f.ServeHTTP(recorder, request)
	result := recorder.Result()
	defer result.Body.Close()
	return answer{result.StatusCode, result.Header, recorder.Body.Bytes()}
}

// read asks for JSON and decodes it.
func read[T any](f *fixture, path string) (got T) {
	f.t.Helper()
	if err := json.Unmarshal(f.get(path).body, &got); err != nil {
		f.t.Fatalf("%s: %v", path, err)
	}
	return got
}

// posts returns the ids of a window.
func (f *fixture) posts(path string) []int {
	f.t.Helper()
	got := read[struct {
		Posts []struct{ ID int } `json:"latest_posts"`
	}](f, path)
	ids := []int{}
	for _, p := range got.Posts {
		ids = append(ids, p.ID)
	}
	return ids
}

type listing struct {
	List struct {
		More   string `json:"more_topics_url"`
		Topics []struct {
			ID      int
			Tags    []any
			Visible bool
			Bumped  time.Time `json:"bumped_at"`
		}
	} `json:"topic_list"`
}

func (l listing) ids() (ids []int) {
	for _, topic := range l.List.Topics {
		ids = append(ids, topic.ID)
	}
	return ids
}

func (f *fixture) want(a answer, status int, header, value string) {
	f.t.Helper()
	if got := a.header.Get(header); a.status != status || got != value {
		f.t.Errorf("got status %d with %s %q, want %d with %q", a.status, header, got, status, value)
	}
}

func TestRefusedRequestsCountInBothWindows(t *testing.T) {
	t.Parallel()

	f := newForum(t)
	f.Switch(func(s *forum.Switches) { s.Limited = true })
	for range 50 {
		f.want(f.get("/posts.json"), 200, "Retry-After", "")
	}
	f.want(f.get("/posts.json"), 429, "Discourse-Rate-Limit-Error-Code", "ip_10_secs_limit")
	f.want(f.get("/posts.json"), 429, "Retry-After", "10")
	f.want(f.get("/posts.json"), 429, "Content-Type", "text/plain; charset=utf-8")
	for range 20 {
		f.clock.Step(5 * time.Second)
		for range 40 {
			f.get("/posts.json")
		}
	}
	f.want(f.get("/posts.json"), 429, "Discourse-Rate-Limit-Error-Code", "ip_10_secs_limit")
	f.clock.Step(11 * time.Second)
	f.want(f.get("/posts.json"), 429, "Discourse-Rate-Limit-Error-Code", "ip_60_secs_limit")
	f.clock.Step(time.Minute)
	f.want(f.get("/posts.json"), 200, "Retry-After", "")
}

func TestKeysHaveLimitsOfTheirOwn(t *testing.T) {
	t.Parallel()

	for header, limit := range map[string]int{"Api-Key": 60, "User-Api-Key": 20} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			f := newForum(t)
			f.Switch(func(s *forum.Switches) { s.Limited = true })
			for range limit {
				f.want(f.get("/posts.json", header, "secret"), 200, "Retry-After", "")
				f.clock.Step(time.Millisecond)
			}
			f.want(f.get("/posts.json", header, "secret"), 429, "Retry-After", "60")
		})
	}
}

func TestCrawlersHaveALimitOfTheirOwn(t *testing.T) {
	t.Parallel()

	f := newForum(t)
	f.Switch(func(s *forum.Switches) { s.CrawlerRequests = 1 })
	f.want(f.get("/posts.json", "User-Agent", "curl/8"), 200, "Retry-After", "")
	f.want(f.get("/posts.json", "User-Agent", "curl/8"), 429, "Retry-After", "60")
	f.want(f.get("/posts.json"), 200, "Retry-After", "")
	f.want(f.get("/posts.json"), 200, "Retry-After", "")
}

func TestAnonymousAnswersAreCachedByAcceptHeader(t *testing.T) {
	t.Parallel()

	f := newForum(t)
	f.Switch(func(s *forum.Switches) { s.Cached = true })
	f.want(f.get("/latest.json"), 200, "X-Discourse-Cached", "store")
	f.AddTopic(1, "Renew", "ada", "<p>one</p>")
	f.want(f.get("/latest.json"), 200, "X-Discourse-Cached", "true")
	if got := read[listing](f, "/latest.json").ids(); len(got) != 0 {
		t.Errorf("got topics %v from the cache, want none", got)
	}
	f.want(f.get("/latest.json", "Accept", "application/json"), 200, "X-Discourse-Cached", "store")
	f.want(f.get("/latest.json", "Api-Key", "secret"), 200, "X-Discourse-Cached", "")
	f.clock.Step(time.Minute)
	if got := read[listing](f, "/latest.json").ids(); len(got) != 1 {
		t.Errorf("got topics %v after a minute, want one", got)
	}
}

func TestPostWindowsOfNewAndOldVersions(t *testing.T) {
	t.Parallel()

	f := newForum(t)
	topic := f.AddTopic(1, "Renew", "ada", "<p>one</p>") // post 1
	f.Reply(topic, "bob", "two")
	f.Message(120) // 3 to 122
	f.Reply(topic, "bob", "three")
	f.DeletePost(f.Reply(topic, "bob", "four"))
	f.HidePost(f.Reply(topic, "bob", "five"), true)
	for _, test := range []struct {
		name, path string
		old        bool
		want       []int
	}{
		{"new: newest first, plain ones only", "/posts.json", false, []int{123, 2, 1}},
		{"new: ids below", "/posts.json?before=123", false, []int{2, 1}},
		{"old: the newest 50 ids", "/posts.json", true, []int{123}},
		{"old: ids up to", "/posts.json?before=123", true, []int{123}},
		{"old: a window may be empty", "/posts.json?before=110", true, []int{}},
		{"old: the last window", "/posts.json?before=50", true, []int{2, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f.Switch(func(s *forum.Switches) { s.OldPosts = test.old })
			if diff := cmp.Diff(test.want, f.posts(test.path)); diff != "" {
				t.Error(diff)
			}
		})
	}
	f.HidePost(125, false)
	f.Switch(func(s *forum.Switches) { s.OldPosts = false })
	check.Want(t, 125, f.posts("/posts.json")[0], "the post that is shown again")
}

func TestPagesAreOffsetsAndPinnedTopicsComeFirst(t *testing.T) {
	t.Parallel()

	f := newForum(t)
	for i := range 65 {
		f.AddTopic(1, fmt.Sprint("Topic ", i+1), "ada", "<p></p>")
		f.clock.Step(time.Second)
	}
	if got := read[listing](f, "/latest.json?order=created&ascending=true&page=1"); got.ids()[0] != 31 || got.List.More == "" {
		t.Errorf("got page %v, more %q; want it from 31 on and more", got.ids(), got.List.More)
	}
	f.Delete(2)
	if got := read[listing](f, "/latest.json?order=created&ascending=true&page=1"); got.ids()[0] != 32 {
		t.Errorf("got page %v; want it to have moved on by one", got.ids())
	}
	last := read[listing](f, "/latest.json?order=created&ascending=true&page=2")
	if len(last.ids()) != 4 || last.List.More != "" {
		t.Errorf("got last page %v, more %q; want 4 and no more", last.ids(), last.List.More)
	}
	f.Pin(7)
	if got := read[listing](f, "/latest.json?order=activity").ids(); got[0] != 7 || got[1] != 65 {
		t.Errorf("got %v, want the pinned topic first, then the newest", got)
	}
	if got := read[listing](f, "/latest.json?order=created").ids(); got[0] != 65 {
		t.Errorf("got %v, want the newest first", got)
	}
}
