package purge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"pnyx/edge/purge"
	"pnyx/test/env"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cdn is a fake cache that records purge requests.
type cdn struct {
	*httptest.Server

	mu sync.Mutex
	// purges holds the tags of each accepted request; asked counts all requests.
	purges [][]string
	asked  int
	// answer responds to the request with a number, counted from 1, and returns true if
	// it rejected it. Without it every response is 200.
	answer func(w http.ResponseWriter, number int) bool
}

// newCDN starts a cache that reads the tags of a request by tagsOf.
func newCDN(t *testing.T, tagsOf func(*http.Request) []string) *cdn {
	t.Helper()
	c := &cdn{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tags := tagsOf(r)
		c.mu.Lock()
		c.asked++
		number, answer := c.asked, c.answer
		c.mu.Unlock()
		if answer != nil && answer(w, number) {
			return
		}
		c.mu.Lock()
		c.purges = append(c.purges, tags)
		c.mu.Unlock()
		fmt.Fprint(w, `{"success":true}`)
	}))
	t.Cleanup(c.Close)
	return c
}

// seen returns the tags of each accepted request, in order.
func (c *cdn) seen() [][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.purges)
}

// purged returns every tag that was purged, each once.
func (c *cdn) purged() []string {
	all := slices.Concat(c.seen()...)
	slices.Sort(all)
	return slices.Compact(all)
}

// bySurrogateKey returns the tags of a request to Fastly.
func bySurrogateKey(r *http.Request) []string {
	return strings.Fields(r.Header.Get("Surrogate-Key"))
}

// byJSON returns the tags of a request to Cloudflare; none of a body that does not decode.
func byJSON(r *http.Request) []string {
	var said struct{ Tags []string }
	_ = json.NewDecoder(r.Body).Decode(&said)
	return said.Tags
}

// sender is a running purger with its metrics.
type sender struct {
	*purge.Purger

	registry *prometheus.Registry
}

// start runs a purger until the end of the test.
func start(t *testing.T, o purge.Options) sender {
	t.Helper()
	registry := prometheus.NewRegistry()
	o.Everything, o.Logger, o.Metrics = "all", slog.New(slog.DiscardHandler), registry
	if o.Settle == 0 {
		o.Settle = time.Millisecond
	}
	if o.Keeps == 0 {
		o.Keeps = time.Hour
	}
	s := sender{purge.New(o), registry}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return s
}

// wantPurged waits until exactly these tags were purged.
func wantPurged(t *testing.T, c *cdn, want ...string) {
	t.Helper()
	env.Until(t, func() error {
		if diff := cmp.Diff(want, c.purged()); diff != "" {
			return errors.New("purged (-want +got):\n" + diff)
		}
		return nil
	})
}

func TestEachKindUsesItsOwnProtocol(t *testing.T) {
	t.Parallel()
	for kind, check := range map[purge.Kind]func(r *http.Request) []string{
		purge.Fastly: func(r *http.Request) []string {
			if r.Method != http.MethodPost || r.URL.Path != "/service/7/purge" || r.Header.Get("Fastly-Soft-Purge") != "1" ||
				r.Header.Get("Fastly-Key") != "secret" {
				t.Errorf("Fastly: got %s %s %v", r.Method, r.URL, r.Header)
			}
			return bySurrogateKey(r)
		},
		purge.Cloudflare: func(r *http.Request) []string {
			if r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer secret" ||
				r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("Cloudflare: got %s %v", r.Method, r.Header)
			}
			return byJSON(r)
		},
		purge.Varnish: func(r *http.Request) []string {
			if body, _ := io.ReadAll(r.Body); r.Method != "PURGE" || len(body) > 0 {
				t.Errorf("Varnish: got %s with %q", r.Method, body)
			}
			return strings.Fields(r.Header.Get("Xkey"))
		},
	} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			t.Parallel()
			c := newCDN(t, check)
			p := start(t, purge.Options{Kind: kind, URLs: []string{c.URL + "/service/7/purge"}, Token: "secret"})
			p.Purge([]string{"dao:uniswap", "daos"})
			wantPurged(t, c, "dao:uniswap", "daos")
		})
	}
}

func TestQueuedTagsArePurgedTogether(t *testing.T) {
	t.Parallel()
	c := newCDN(t, bySurrogateKey)
	first, proceed := make(chan struct{}), make(chan struct{})
	c.answer = func(_ http.ResponseWriter, number int) bool {
		if number == 1 {
			close(first)
			<-proceed
		}
		return false
	}
	p := start(t, purge.Options{Kind: purge.Fastly, URLs: []string{c.URL}})
	p.Purge([]string{"first"})
	<-first
	want := []string{"first"}
	for i := range 100 { // a hundred publications, while one purge is under way
		tag := fmt.Sprintf("proposal:%03d", i)
		p.Purge([]string{tag, "daos"})
		want = append(want, tag)
	}
	close(proceed)
	wantPurged(t, c, slices.Sorted(slices.Values(append(want, "daos")))...)
	if together := c.seen()[1]; len(together) < 101 {
		t.Errorf("the second purge: got %d tags, want the tags of all publications", len(together))
	}
}

func TestTagsArePurgedAgainAfterSettle(t *testing.T) {
	t.Parallel()
	c := newCDN(t, bySurrogateKey)
	p := start(t, purge.Options{Kind: purge.Fastly, URLs: []string{c.URL}, Settle: 50 * time.Millisecond})
	p.Purge([]string{"daos"})
	env.Until(t, func() error {
		if got := c.seen(); len(got) < 2 {
			return fmt.Errorf("got the purges %v, want one at once and one more", got)
		}
		return nil
	})
}

func TestTooManyTagsPurgeEverything(t *testing.T) {
	t.Parallel()
	c := newCDN(t, bySurrogateKey)
	p := start(t, purge.Options{Kind: purge.Fastly, URLs: []string{c.URL}})
	tags := make([]string, 10_000)
	for i := range tags {
		tags[i] = fmt.Sprintf("proposal:%d", i)
	}
	p.Purge(tags)
	wantPurged(t, c, "all")
}

func TestRequestsStayWithinTheLimitsOfTheirCache(t *testing.T) {
	t.Parallel()
	for kind, most := range map[purge.Kind]int{purge.Fastly: 256, purge.Cloudflare: 100, purge.Varnish: 100} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			t.Parallel()
			c := newCDN(t, func(r *http.Request) []string {
				return slices.Concat(byJSON(r), bySurrogateKey(r), strings.Fields(r.Header.Get("Xkey")))
			})
			p := start(t, purge.Options{Kind: kind, URLs: []string{c.URL}})
			var tags []string
			for i := range 300 {
				tags = append(tags, fmt.Sprintf("%s:%03d", strings.Repeat("x", 90), i))
			}
			p.Purge(tags)
			wantPurged(t, c, tags...)
			for _, request := range c.seen() {
				if len(request) > most || len(strings.Join(request, " ")) > 8<<10 {
					t.Errorf("%s: got %d tags in %d bytes, want at most %d in 8 KB", kind, len(request), len(strings.Join(request, " ")), most)
				}
			}
		})
	}
}

func TestFailedPurgeIsRetried(t *testing.T) {
	t.Parallel()
	c := newCDN(t, bySurrogateKey)
	c.answer = func(w http.ResponseWriter, number int) bool {
		switch number {
		case 1:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.WriteHeader(http.StatusBadGateway)
		case 3:
			http.Redirect(w, &http.Request{Method: http.MethodPost}, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}
		return number <= 3
	}
	p := start(t, purge.Options{Kind: purge.Fastly, URLs: []string{c.URL}})
	p.Purge([]string{"daos"})
	wantPurged(t, c, "daos")
	if got := env.Counts(t, p.registry, "pnyx_purge_requests_total"); got["outcome=busy"] != 1 || got["outcome=failed"] != 2 {
		t.Errorf("got requests %v, want 1 busy and 2 failed", got)
	}
}

func TestCloudflareFailureWithStatus200IsRetried(t *testing.T) {
	t.Parallel()
	c := newCDN(t, byJSON)
	c.answer = func(w http.ResponseWriter, number int) bool {
		if number == 1 {
			fmt.Fprint(w, `{"success":false,"errors":[{"code":10000}]}`)
		}
		return number == 1
	}
	p := start(t, purge.Options{Kind: purge.Cloudflare, URLs: []string{c.URL}})
	p.Purge([]string{"daos"})
	wantPurged(t, c, "daos")
}

func TestHangingCacheDelaysNoOther(t *testing.T) {
	t.Parallel()
	hangs, works := newCDN(t, bySurrogateKey), newCDN(t, bySurrogateKey)
	release := make(chan struct{})
	hangs.answer = func(http.ResponseWriter, int) bool { <-release; return true }
	t.Cleanup(func() { close(release) }) // before the server is closed, which waits for it
	p := start(t, purge.Options{Kind: purge.Varnish, URLs: []string{hangs.URL, works.URL}})
	for range 1000 { // none of them waits
		p.Purge([]string{"daos"})
	}
	env.Until(t, func() error {
		if len(works.seen()) == 0 {
			return errors.New("the cache that works was not told")
		}
		return nil
	})
}

func TestPurgeIsDroppedAfterCachesExpire(t *testing.T) {
	t.Parallel()
	c := newCDN(t, bySurrogateKey)
	c.answer = func(w http.ResponseWriter, _ int) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	p := start(t, purge.Options{Kind: purge.Fastly, URLs: []string{c.URL}, Keeps: time.Millisecond})
	p.Purge([]string{"daos", "data-status"})
	env.Until(t, func() error {
		if got := env.Counts(t, p.registry, "pnyx_purge_given_up_total")[""]; got != 2 {
			return fmt.Errorf("given up: got %v tags, want 2", got)
		}
		return nil
	})
}
