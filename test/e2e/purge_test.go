package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pnyx/test/env"
)

// cdn stands for three caches: one accepts every purge, one fails at first, and one never answers.
type cdn struct {
	*httptest.Server

	mu sync.Mutex
	// purges are the tags of each completed purge, by cache.
	purges map[string][][]string
	// failures holds the start and end times of the failed requests.
	failures []span
	// unanswered counts the requests without an answer, strangers those without the token.
	unanswered, strangers int
}

// span is an interval of time.
type span struct{ began, ended time.Time }

const (
	purgeToken = "purge-token-of-the-tests-of-pnyx"
	// failing is the number of purges that the second cache refuses.
	failing = 3
)

func newCDN(t *testing.T) *cdn {
	t.Helper()
	c := &cdn{purges: map[string][][]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /works", c.purge)
	mux.HandleFunc("POST /fails", c.fail)
	mux.HandleFunc("POST /hangs", c.hang)
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Fastly-Key") != purgeToken {
			c.mu.Lock()
			c.strangers++
			c.mu.Unlock()
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *cdn) purge(_ http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.purges[r.URL.Path] = append(c.purges[r.URL.Path], strings.Fields(r.Header.Get("Surrogate-Key")))
}

func (c *cdn) fail(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	c.mu.Lock()
	failed := len(c.failures) < failing
	if failed {
		c.failures = append(c.failures, span{began, time.Now()})
	}
	c.mu.Unlock()
	if failed {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	c.purge(w, r)
}

// hang blocks until the worker cancels the request.
func (c *cdn) hang(_ http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.unanswered++
	c.mu.Unlock()
	<-r.Context().Done()
}

// done returns the tags of the completed purges of a cache, without the first ones.
func (c *cdn) done(cache string, but int) [][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.purges[cache][but:])
}

// kept is an answer as a cache stores it.
type kept struct {
	tags []string
	data string
}

// keep reads answers as a cache that also stores paid ones.
func (i *instance) keep(paths []string) map[string]kept {
	i.TB.Helper()
	all := map[string]kept{}
	for _, path := range paths {
		var data json.RawMessage
		r, err := i.Ask(path, &data)
		if err != nil || r.Status != http.StatusOK && r.Status != http.StatusNotFound {
			i.TB.Fatalf("GET %s: %d %v", path, r.Status, err)
		}
		tags := strings.Fields(r.Header.Get("Surrogate-Key"))
		if joined := strings.Join(tags, ","); len(tags) == 0 || joined != r.Header.Get("Cache-Tag") {
			i.TB.Errorf("GET %s: got the tags %q in Surrogate-Key, %q in Cache-Tag", path, tags, r.Header.Get("Cache-Tag"))
		}
		all[path] = kept{tags, fmt.Sprint(r.Status, string(data))}
	}
	return all
}

// outdated returns the paths whose data has changed.
func outdated(before, after map[string]kept) (paths []string) {
	for path, answer := range after {
		if answer.data != before[path].data {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// wantPurged waits until a cache has purged answers, by a tag that each of them carries.
func (c *cdn) wantPurged(t *testing.T, cache string, but int, answers map[string]kept, paths []string) {
	t.Helper()
	env.Until(t, func() error {
		purged := slices.Concat(c.done(cache, but)...)
		for _, path := range paths {
			if !slices.ContainsFunc(answers[path].tags, func(tag string) bool { return slices.Contains(purged, tag) }) {
				return fmt.Errorf("%s: %s has the tags %q, got purges of %q", cache, path, answers[path].tags, purged)
			}
		}
		return nil
	})
}

// about returns the paths of all answers about a DAO and its one proposal, but for pages of voters.
func about(daoID, proposalID string) []string {
	dao, of, proposal := "/v2/daos/"+daoID, "daoId="+daoID, "/v2/proposals/"+proposalKey(daoID, proposalID)
	return []string{
		dao, "/v2/meta/data-status?" + of, dao + "/timeline?metric=votes_cast", dao + "/timeline?metric=proposals_created", dao + "/voters", "/v2/proposals?" + of,
		proposal, proposal + "/votes/summary", proposal + "/votes", proposal + "/votes?order=time", proposal + "/evidence",
		"/v2/events?from=2023-11-01&to=2023-11-30&" + of, "/v2/signals?from=2023-11-01&to=2023-11-30&" + of,
	}
}

// proposalLine is a proposal in the format of Snapshot.
func proposalLine(daoID, proposalID string) string {
	return fmt.Sprintf(`{"id":%q,"space":{"id":%q},"author":"0xA","type":"single-choice","title":"T","choices":["For","Against"],`+
		`"state":"closed","created":1699000000,"start":1699000000,"end":1701000000}`, proposalID, daoID)
}

// An import purges every answer that it changes, by a tag of that answer, and no others, while one of the caches
// fails and another hangs.
func TestPublicationPurgesWhatItChanges(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	caches := newCDN(t)
	i := startShared(t, []string{
		"PNYX_PURGE_KIND=fastly", "PNYX_PURGE_TOKEN=" + purgeToken,
		"PNYX_PURGE_URL=" + caches.URL + "/works," + caches.URL + "/fails," + caches.URL + "/hangs",
	}, "serve").ready()
	others := about("b.eth", "0xq")
	proposal := "/v2/proposals/" + proposalKey("a.eth", "0xp")
	touched := []string{"/v2/daos/a.eth", proposal + "/votes", proposal + "/votes/summary"}
	all := slices.Concat([]string{"/v2/daos", "/v2/meta/data-status", "/v2/proposals"}, about("a.eth", "0xp"), others)

	nothing := i.keep(all)
	i.ImportLines(goodSpace, strings.ReplaceAll(goodSpace, "a.eth", "b.eth"))
	i.ImportLines(proposalLine("a.eth", "0xp"), proposalLine("b.eth", "0xq"))
	i.AwaitPublished()
	i.AwaitFeed()
	before := i.keep(all)
	if changed := outdated(nothing, before); len(changed) < len(all)/2 {
		t.Errorf("import of two DAOs: got only %q changed", changed)
	}
	caches.wantPurged(t, "/works", 0, before, outdated(nothing, before))

	// Earlier publications are purged once more, so that several ballots may be needed for one of its own.
	var ballots, since, seen int
	env.Until(t, func() error {
		since, seen = seen, len(caches.done("/works", 0))
		ballots++
		i.ImportLines(fmt.Sprintf(`{"id":"v%[1]d","proposal":{"id":"0xp"},"space":{"id":"a.eth"},"voter":"0x%[1]d",`+
			`"created":1700000000,"choice":1,"vp":1}`, ballots))
		i.AwaitPublished()
		i.AwaitFeed()
		after := i.keep(all)
		changed := outdated(before, after)
		before = after
		caches.wantPurged(t, "/works", since, after, changed)
		if ballots < 2 {
			return errors.New("only one ballot was imported")
		}
		if err := compareChanged(changed, touched, others); err != nil {
			return err
		}
		return caches.sparing(seen, after, touched, others)
	})
	t.Logf("%d ballots, %d purges", ballots, len(caches.done("/works", 0)))
	caches.wantPurged(t, "/fails", 0, i.keep(all), all[:4])
	caches.wantRetries(t)
}

// compareChanged checks that all answers that a ballot affects have changed, and none of another DAO.
func compareChanged(changed, touched, others []string) error {
	missed := slices.DeleteFunc(slices.Clone(touched), func(path string) bool { return slices.Contains(changed, path) })
	strayed := slices.DeleteFunc(slices.Clone(others), func(path string) bool { return !slices.Contains(changed, path) })
	if len(missed)+len(strayed) > 0 {
		return fmt.Errorf("a ballot left %q unchanged and changed %q, want neither", missed, strayed)
	}
	return nil
}

// sparing checks that one purge contains a touched answer and none of the others.
func (c *cdn) sparing(but int, answers map[string]kept, touched, others []string) error {
	purges := c.done("/works", but)
	for _, tags := range purges {
		isPurged := func(path string) bool {
			return slices.ContainsFunc(answers[path].tags, func(tag string) bool { return slices.Contains(tags, tag) })
		}
		if slices.ContainsFunc(touched, isPurged) && !slices.ContainsFunc(others, isPurged) {
			return nil
		}
	}
	return fmt.Errorf("got the purges %q, want one with changed answers alone", purges)
}

// wantRetries checks that failing caches are retried after growing intervals.
func (c *cdn) wantRetries(t *testing.T) {
	t.Helper()
	env.Until(t, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.unanswered < 2 {
			return errors.New("the cache that hangs was not asked again")
		}
		return nil
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.strangers > 0 {
		t.Errorf("got %d requests without the token, want 0", c.strangers)
	}
	for n, least := range []time.Duration{250 * time.Millisecond, 500 * time.Millisecond} {
		if pause := c.failures[n+1].began.Sub(c.failures[n].ended); pause < least {
			t.Errorf("after failure %d: retried after %s, want at least %s", n+1, pause, least)
		}
	}
}
