package edge_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pnyx/access"
	"pnyx/api"
	"pnyx/edge"
	"pnyx/test/env"
)

// origin is an HTTP server in place of the API nodes, with a handler of the test.
type origin struct {
	*httptest.Server

	// asked counts requests, paths the requests of each path; seen is the last one.
	asked atomic.Int64
	mu    sync.Mutex
	paths map[string]int
	seen  *http.Request
}

func newOrigin(tb testing.TB, answer http.HandlerFunc) *origin {
	tb.Helper()
	o := &origin{paths: map[string]int{}}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && strings.HasPrefix(r.URL.Path, api.PathAuthorize) {
			http.NotFound(w, r) // the edge compares its time limits before it starts
			return
		}
		o.asked.Add(1)
		o.mu.Lock()
		o.seen = r
		o.paths[r.URL.Path]++
		o.mu.Unlock()
		answer(w, r)
	}))
	tb.Cleanup(o.Close)
	return o
}

func (o *origin) last() *http.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen
}

// askedFor returns how often a path was requested.
func (o *origin) askedFor(path string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.paths[path]
}

// untilExpired waits until all responses with s-maxage=1 that the edge has cached so far are
// out of date: until one that is cached now is requested from the origin again.
func (o *origin) untilExpired(e *nginx) {
	e.Helper()
	const probe = "/v2/daos/cached-last"
	e.get(probe)
	cached := o.askedFor(probe)
	env.Until(e, func() error {
		if e.get(probe); o.askedFor(probe) == cached {
			return errors.New("the response that was cached last is not out of date")
		}
		return nil
	})
}

func TestConcurrentMissesReachTheOriginOnce(t *testing.T) {
	t.Parallel()
	const path, requests = "/v2/daos/wanted", 100
	for name, prepare := range map[string]func(*origin, *nginx){
		"an answer that is not there": func(*origin, *nginx) {},
		"an answer out of date":       func(o *origin, e *nginx) { e.get(path); o.untilExpired(e) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var held atomic.Bool // as long, the origin answers nothing
			release := make(chan struct{})
			o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Cache-Control", "public, s-maxage=1")
				if held.Load() {
					<-release
					w.Header().Set("Cache-Control", "public, s-maxage=3600")
				}
				fmt.Fprint(w, r.URL.Path)
			})
			e := startEdge(t, o.URL)
			prepare(o, e)
			before := o.askedFor(path)
			held.Store(true)
			done := make(chan struct{})
			go func() {
				defer close(done)
				env.Concurrently(e, requests, requests, func(int) error {
					got, err := e.try(http.MethodGet, path)
					if err == nil && got.status != http.StatusOK {
						err = fmt.Errorf("GET %s: got %d %s", path, got.status, got.body)
					}
					return err
				})
			}()
			end := sync.OnceFunc(func() { close(release) })
			t.Cleanup(end) // before the origin is closed, which waits for it
			e.untilProcessing(requests)
			end()
			<-done
			env.Want(t, 1, o.askedFor(path)-before, requests, "requests", "at the origin")
		})
	}
}

// A worker of nginx answers with a copy of its own what it has hit twice in a second.
func TestRepeatedHitsEqualTheFirst(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{"Cache-Control": "public, s-maxage=3600", "ETag": `"1"`, "Vary": "Accept-Encoding", "Content-Type": "text/plain"} {
			w.Header().Set(name, value)
		}
		w.Header()["Link"] = []string{`</one>; rel="prev"`, `</two>; rel="next"`}
		body := io.Writer(w)
		if r.Header.Get("Accept-Encoding") == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			zip := gzip.NewWriter(w)
			defer zip.Close()
			body = zip
		}
		repeat := 1
		if r.URL.Path == "/v2/daos/large" {
			repeat = 10_000 // no copy is made
		}
		fmt.Fprint(body, strings.Repeat(r.URL.Path, repeat))
	})
	e := startEdge(t, o.URL)
	for _, path := range []string{"/v2/daos/small", "/v2/daos/large"} {
		for _, encoding := range []string{"identity", "gzip"} {
			read := func(method string, headers ...string) answer {
				got := env.Must(e.try(method, path, append(headers, "Accept-Encoding", encoding)...))(t)
				for _, own := range []string{"Age", "X-Request-Id", "Date"} {
					got.header.Del(own)
				}
				return got
			}
			read(http.MethodGet)
			first := read(http.MethodGet)
			if first.status != http.StatusOK || !strings.HasPrefix(first.body, path) {
				t.Fatalf("%s in %s: got %d %v", path, encoding, first.status, first.header)
			}
			for range 50 {
				if got := read(http.MethodGet); !reflect.DeepEqual(got, first) {
					t.Fatalf("%s in %s, again: got %d %v, want %v", path, encoding, got.status, got.header, first.header)
				}
			}
			env.Want(t, "pnyx-edge; hit", first.header.Get("Cache-Status"), path, "Cache-Status", "a hit")
			if got := read(http.MethodHead); got.body != "" || !reflect.DeepEqual(got.header, first.header) {
				t.Errorf("HEAD %s in %s: got %v, want %v", path, encoding, got.header, first.header)
			}
			if got := read(http.MethodGet, "If-None-Match", `"1"`); got.status != http.StatusNotModified || got.body != "" {
				t.Errorf("%s in %s, held already: got %d", path, encoding, got.status)
			}
			refused := e.answerTo("GET " + path + " HTTP/1.1\r\nAccept-Encoding: " + encoding + "\r\nHost: one\r\nHost: two\r\n\r\n")
			env.Want(t, http.StatusBadRequest, refused.status, path, "in", encoding, "with two hosts")
			env.Want(t, http.StatusUnsupportedMediaType, read(http.MethodGet, "Content-Encoding", "gzip").status, path, "in", encoding, "encoded")
		}
	}
	e.wantMetrics(map[string]float64{
		"pnyx_edge_requests_total cache=miss route=daos.detail status=200": 4, "pnyx_edge_requests_total cache=hit route=daos.detail status=200": 4 * 52,
		"pnyx_edge_requests_total cache=hit route=daos.detail status=304": 4,
	})
}

func TestStaleResponsesAreServedWhileTheOriginFails(t *testing.T) {
	t.Parallel()
	const stale = "public, s-maxage=1, stale-if-error=3600"
	var status atomic.Int64
	status.Store(http.StatusOK)
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", map[bool]string{true: stale, false: "public, s-maxage=1"}[r.URL.Path == "/v2/daos/a"])
		if status.Load() != http.StatusOK {
			w.Header().Set("Cache-Control", "no-store")
		}
		w.WriteHeader(int(status.Load()))
		fmt.Fprint(w, "data")
	})
	e := startEdge(t, o.URL)
	e.get("/v2/daos/a")
	e.get("/v2/daos")
	o.untilExpired(e)
	status.Store(http.StatusServiceUnavailable)
	if got := e.get("/v2/daos/a"); got.status != http.StatusOK || got.body != "data" || got.header.Get("Age") == "" ||
		got.header.Get("Cache-Status") != "pnyx-edge; hit; detail=origin-unreachable" {
		t.Errorf("while the origin fails: got %d %v, want the stale answer, and its age", got.status, got.header)
	}
	env.Want(t, http.StatusServiceUnavailable, e.get("/v2/daos").status, "while the origin fails, without a word on stale answers")
	status.Store(http.StatusNotFound)
	env.Until(e, func() error { // it is gone, which is no failure
		if got := e.get("/v2/daos/a"); got.status != http.StatusNotFound {
			return fmt.Errorf("what is gone: got %d, want 404", got.status)
		}
		return nil
	})
	o.CloseClientConnections()
	o.Close()
	env.Want(t, http.StatusOK, e.get("/v2/daos/a").status, "while the origin is stopped", "the stale answer")
	for _, path := range []string{"/v2/daos", "/v2/daos/b", "/v2/proposals"} {
		got := e.get(path, "X-Request-Id", "mine")
		if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, `"code":"UNAVAILABLE"`) ||
			!strings.Contains(got.body, `"requestId":"mine"`) || got.header.Get("Retry-After") == "" {
			t.Errorf("%s without an origin: got %d %v %s, want 503 in the envelope", path, got.status, got.header, got.body)
		}
	}
}

// Nodes that take connections and do not answer cost one caller a wait, and the others none.
func TestStaleResponsesAreServedAtOnceWhileTheOriginHangs(t *testing.T) {
	t.Parallel()
	const path, requests = "/v2/daos/wanted", 20
	var held atomic.Bool
	arrived, release := make(chan struct{}, requests), make(chan struct{})
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		if held.Load() && r.URL.Path == path {
			arrived <- struct{}{}
			<-release
		}
		w.Header().Set("Cache-Control", "public, s-maxage=1, stale-if-error=3600")
		fmt.Fprint(w, r.URL.Path)
	})
	e := startEdge(t, o.URL, func(o *edge.Options) { o.AnswerTimeout = 5 * time.Second })
	e.get(path)
	o.untilExpired(e)
	end := sync.OnceFunc(func() { held.Store(false); close(release) })
	t.Cleanup(end)
	held.Store(true)
	before := o.askedFor(path)
	for range requests {
		if got := e.get(path); got.status != http.StatusOK || got.header.Get("Cache-Status") != "pnyx-edge; hit; detail=origin-unreachable" {
			t.Errorf("while the origin hangs: got %d %v", got.status, got.header)
		}
	}
	if asked := o.askedFor(path) - before; asked > requests/2 {
		t.Errorf("got %d requests at the origin for %d, want few", asked, requests)
	}
	e.wantMetrics(map[string]float64{"pnyx_edge_origin_errors_total reason=unreachable": 0})
	for len(arrived) > 0 {
		<-arrived
	}
	asked, answered := o.askedFor(path), make(chan struct{})
	go func() {
		defer close(answered)
		<-arrived
		_, _ = e.try(http.MethodGet, path)
	}()
	env.Until(t, func() error {
		if e.get(path); o.askedFor(path) == asked {
			return errors.New("the origin is not asked again")
		}
		return nil
	})
	select {
	case <-answered:
	default:
		t.Error("a request waited while the origin was asked again")
	}
	end()
	env.Until(t, func() error {
		if got := e.get(path); strings.Contains(got.header.Get("Cache-Status"), "unreachable") {
			return fmt.Errorf("got %d %v, want the origin's answer", got.status, got.header)
		}
		return nil
	})
}

func TestEquivalentURLsShareACacheEntry(t *testing.T) { //nolint:tparallel // its subtests share a cache and count requests
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "public, s-maxage=3600")
		w.Header().Set("Vary", "Accept-Encoding")
		fmt.Fprint(w, "data")
	})
	e := startEdge(t, o.URL)
	for _, same := range [][]string{
		{"/v2/daos", "/v2/daos?", "/v2/daos?limit=50"},
		{
			"/v2/daos?hasVoteData=true&coverageStatus=complete&limit=5", "/v2/daos?limit=5&coverageStatus=complete&hasVoteData=true",
			"/v2/daos?coverageStatus=complete&limit=5&hasVoteData=true",
		},
		{"/v2/daos?hasVoteData=true&hasForumData=false", "/v2/daos?hasForumData=false&limit=50&hasVoteData=true"},
		{"/v2/meta/pricing", "/v2/meta/pricing?"},
		{"/v2/daos/a.eth"},
		{"/v2/daos/A.eth"},
		{"/docs", "/docs?"},
	} {
		t.Run(same[0], func(t *testing.T) {
			e, before := e.with(t), o.asked.Load()
			for _, path := range same {
				for _, encoding := range []string{"gzip", "gzip, deflate, br", "br;q=1.0, gzip;q=0.8"} {
					e.get(path, "Accept-Encoding", encoding)
				}
			}
			env.Want(t, 1, o.asked.Load()-before, same, "requests at the origin")
		})
	}
	e.get("/v2/daos?limit=50")
	before := o.asked.Load()
	for _, plain := range []string{"", "identity", "br", "gzip;q=0", "x-gzip"} {
		e.get("/v2/daos", "Accept-Encoding", plain)
	}
	if got := o.asked.Load() - before; got > 1 {
		t.Errorf("without compression: got %d requests at the origin, want one", got)
	}
}

func TestUnrecognizedURLsAreProxiedAndNotCached(t *testing.T) { //nolint:tparallel // its subtests share a cache and count requests
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, s-maxage=3600")
		fmt.Fprint(w, r.RequestURI)
	})
	e := startEdge(t, o.URL)
	e.get("/v2/daos")
	e.get("/v2/daos?limit=5")
	for _, path := range []string{
		"/v2/daos?limit=5&limit=6", "/v2/daos?limit=5&limit=5", "/v2/daos?Limit=5", "/v2/daos?limit=05", "/v2/daos?limit=%35", "/v2/daos?limit=",
		"/v2/daos?limit", "/v2/daos?x=1", "/v2/daos?limit=5&", "/v2/daos?limit=5&x=1", "/v2/daos?hasVoteData=TRUE",
		"/v2/daos?coverageStatus=nonsense", "/v2/d%61os", "/v2//daos", "/v2/./daos", "/v2/daos/a/../b", "/v2/daos/a%2Fb", "/v2/daos/", "/v2/daos/a?x=1",
		"/v2/meta/usage", "/", "/nowhere", "/v2/daos?limit=5+", "/docs?x=1",
		"/v2/daos?cursor=" + strings.Repeat("x", 4096),
	} {
		t.Run(path, func(t *testing.T) {
			e, before := e.with(t), o.asked.Load()
			for range 2 {
				env.Want(t, path, e.get(path).body, "the origin was asked")
			}
			env.Want(t, 2, o.asked.Load()-before, "requests at the origin")
		})
	}
}

func TestAttackForgedRequestHeadersAreNotForwardedOrCached(t *testing.T) { //nolint:tparallel // its subtests share a cache and count requests
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, s-maxage=3600")
		w.Header().Set("X-Request-Id", r.Header.Get("X-Request-Id"))
		w.Header().Set("Surrogate-Key", "all")
		w.Header().Set("Server-Timing", "app;dur=1")
	})
	e := startEdge(t, o.URL)
	forged := []string{
		access.HeaderInternal, internalToken, api.HeaderFill, "x", access.HeaderToken, "secret", "X-Request-Id", "alice.1", "Cookie", "a=b",
	}
	e.get("/v2/daos/a", forged...)
	if asked := o.last(); asked.Header.Get(access.HeaderToken) != "" || asked.Header.Get("X-Request-Id") == "alice.1" {
		t.Errorf("what is kept for everyone was asked for with %v", asked.Header)
	}
	for _, id := range []string{"alice.1", "bob.2"} {
		got := e.get("/v2/daos/a", "X-Request-Id", id)
		if got.header.Get("X-Request-Id") != id || len(got.header.Values("X-Request-Id")) != 1 {
			t.Errorf("request id: got %v, want the caller's own %s", got.header.Values("X-Request-Id"), id)
		}
		env.Want(t, "", got.header.Get("Server-Timing"), "Server-Timing", "is shown")
		env.Want(t, "all", got.header.Get("Surrogate-Key"), "Surrogate-Key", "is for the cache in front")
	}
	for _, method := range []string{http.MethodHead, http.MethodOptions, http.MethodPost} {
		env.Must(e.try(method, "/v2/proposals", forged...))(t)
		if asked := o.last(); asked.RequestURI != "/v2/proposals" || asked.Header.Get(access.HeaderInternal) != "" || asked.Method != method {
			t.Errorf("%s: the origin was asked %s %s with %v", method, asked.Method, asked.RequestURI, asked.Header)
		}
	}
	e.get("/v2/proposals", "PAYMENT-SIGNATURE", "x")
	if asked := o.last(); asked.RequestURI != "/v2/proposals" || asked.Header.Get(access.HeaderInternal) != "" {
		t.Errorf("a payment: the origin was asked %s with %v", asked.RequestURI, asked.Header)
	}
}

func TestEdgeErrorsUseTheAPIEnvelope(t *testing.T) { //nolint:tparallel // its subtests count requests
	t.Parallel()
	o := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	e := startEdge(t, o.URL)
	for name, c := range map[string]struct {
		request string
		want    int
	}{
		"an internal path":    {"GET " + api.PathBody + "x HTTP/1.1\r\nHost: x\r\n\r\n", http.StatusNotFound},
		"a long path":         {"GET /v2/daos?x=" + strings.Repeat("x", 40<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", http.StatusRequestURITooLong},
		"an unknown version":  {"GET /v2/daos HTTP/3.0\r\nHost: x\r\n\r\n", http.StatusBadRequest},
		"an unknown encoding": {"GET /v2/daos HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x\r\n\r\n", http.StatusBadRequest},
		"no request":          {"hello\r\n\r\n", http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			got := e.with(t).answerTo(c.request)
			if got.status != c.want || !strings.HasPrefix(got.body, `{"error":{"code":"`) || got.header.Get("Cache-Control") != "no-store" {
				t.Errorf("got %d %v %s, want %d in the envelope", got.status, got.header, got.body, c.want)
			}
		})
	}
	e.wantMetrics(map[string]float64{
		"pnyx_edge_requests_total cache=none route=none status=400": 2, "pnyx_edge_requests_total cache=none route=daos.list status=400": 1,
		"pnyx_edge_requests_total cache=none route=none status=404": 1, "pnyx_edge_requests_total cache=none route=none status=414": 1,
	})
	env.Want(t, 0, o.asked.Load(), "requests at the origin")
}

func TestEdgeWithoutHostListensOnEveryAddress(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	port := env.Free(t)
	e := startEdge(t, o.URL, func(o *edge.Options) { o.Listen, o.AdminListen = ":"+port, ":"+env.Free(t) })
	callers := []string{"127.0.0.1"}
	if probe, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		probe.Close()
		callers = append(callers, "::1")
	}
	for _, caller := range callers {
		e.base = "http://" + net.JoinHostPort(caller, port)
		if got := e.get("/v2/meta/usage"); got.status != http.StatusOK {
			t.Errorf("by %s: got %d, want 200", caller, got.status)
			continue
		}
		env.Want(t, caller, o.last().Header.Get("X-Forwarded-For"), "the node is told")
	}
}

// A disk that is full or read-only costs the cache, and no response.
func TestResponsesPassWhileTheCacheCannotBeWritten(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, s-maxage=3600")
		if strings.HasPrefix(r.RequestURI, api.PathAuthorize) {
			w.Header().Set("X-Accel-Redirect", api.PathBody+"name")
		}
		w.Header().Set("X-Accel-Expires", "3600")
		fmt.Fprint(w, r.URL.Path)
	})
	options := newOptions(t, o.URL)
	e, folder := startEdgeWith(t, options), filepath.Join(options.Dir, "cache")
	env.MustDo(t, os.RemoveAll(folder))
	env.MustDo(t, os.WriteFile(folder, nil, 0o600)) // in its place
	for i := range 4 {                              // workers notice one by one
		for _, path := range []string{fmt.Sprintf("/v2/daos/a%d", i), fmt.Sprintf("/v2/proposals/p1_%d", i)} {
			env.Until(t, func() error {
				if got, err := e.try(http.MethodGet, path); err != nil || got.status != http.StatusOK || got.body != path {
					return fmt.Errorf("%s: got %d %q, %w", path, got.status, got.body, err)
				}
				return nil
			})
		}
	}
}

func TestABodyThatFailsIsNotKept(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, max-age=1")
		if strings.HasPrefix(r.RequestURI, api.PathAuthorize) {
			w.Header().Set("X-Accel-Redirect", api.PathBody+"name")
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	got := startEdge(t, o.URL).get("/v2/proposals/p1_x")
	env.Want(t, http.StatusServiceUnavailable, got.status, "status")
	env.WantSame(t, "Cache-Control", []string{"no-store"}, got.header.Values("Cache-Control"))
}
