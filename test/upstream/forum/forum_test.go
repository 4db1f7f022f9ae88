package forum_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"pnyx/clock"
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
}

// get asks the forum for its posts; headers are name and value in turn.
func (f *fixture) get(headers ...string) answer {
	f.t.Helper()
	request := httptest.NewRequestWithContext(f.t.Context(), http.MethodGet, "/posts.json", http.NoBody)
	request.Header.Set("User-Agent", "pnyx (ops@example.org)")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	f.ServeHTTP(recorder, request)
	result := recorder.Result()
	defer result.Body.Close()
	return answer{result.StatusCode, result.Header}
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
		f.want(f.get(), 200, "Retry-After", "")
	}
	f.want(f.get(), 429, "Discourse-Rate-Limit-Error-Code", "ip_10_secs_limit")
	f.want(f.get(), 429, "Retry-After", "10")
	f.want(f.get(), 429, "Content-Type", "text/plain; charset=utf-8")
	for range 20 {
		f.clock.Step(5 * time.Second)
		for range 40 {
			f.get()
		}
	}
	f.want(f.get(), 429, "Discourse-Rate-Limit-Error-Code", "ip_10_secs_limit")
	f.clock.Step(11 * time.Second)
	f.want(f.get(), 429, "Discourse-Rate-Limit-Error-Code", "ip_60_secs_limit")
	f.clock.Step(time.Minute)
	f.want(f.get(), 200, "Retry-After", "")
}

func TestKeysHaveLimitsOfTheirOwn(t *testing.T) {
	t.Parallel()

	for header, limit := range map[string]int{"Api-Key": 60, "User-Api-Key": 20} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			f := newForum(t)
			f.Switch(func(s *forum.Switches) { s.Limited = true })
			for range limit {
				f.want(f.get(header, "secret"), 200, "Retry-After", "")
				f.clock.Step(time.Millisecond)
			}
			f.want(f.get(header, "secret"), 429, "Retry-After", "60")
		})
	}
}

func TestCrawlersHaveALimitOfTheirOwn(t *testing.T) {
	t.Parallel()

	f := newForum(t)
	f.Switch(func(s *forum.Switches) { s.CrawlerRequests = 1 })
	f.want(f.get("User-Agent", "curl/8"), 200, "Retry-After", "")
	f.want(f.get("User-Agent", "curl/8"), 429, "Retry-After", "60")
	f.want(f.get(), 200, "Retry-After", "")
	f.want(f.get(), 200, "Retry-After", "")
}
