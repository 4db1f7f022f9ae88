package api_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/valyala/fasthttp"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// knownHost is a host with which known targets are answered without the router, and
// routedHost one that fasthttp reads as well, with which they are not.
const (
	knownHost  = "api.example.com"
	routedHost = "[::1]:8080"
)

// internalHeader is that of an internal caller.
const internalHeader = access.HeaderInternal + ": " + internalToken

// rawRequest is a request as it is on the wire, but for its host.
type rawRequest struct {
	method, target string
	header         []string
}

func (r rawRequest) String() string {
	return r.method + " " + r.target + " " + strings.Join(r.header, " | ")
}

// over answers a request without a socket, and returns what a server would send.
func (r rawRequest) over(handler fasthttp.RequestHandler, host string) (status int, wire string, err error) {
	lines := append([]string{r.method + " " + r.target + " HTTP/1.1", "Host: " + host}, r.header...)
	var c fasthttp.RequestCtx
	c.Init(&fasthttp.Request{}, nil, nil)
	if err := c.Request.Read(bufio.NewReader(strings.NewReader(strings.Join(lines, "\r\n") + "\r\n\r\n"))); err != nil {
		return 0, "", fmt.Errorf("read %s: %w", r, err)
	}
	handler(&c)
	c.Response.SkipBody = r.method == http.MethodHead
	var sent bytes.Buffer
	out := bufio.NewWriter(&sent)
	if err := c.Response.Write(out); err != nil {
		return 0, "", fmt.Errorf("write the answer to %s: %w", r, err)
	}
	return c.Response.StatusCode(), sent.String(), out.Flush()
}

// varying matches what differs between two answers to the same request: clocks, ids that
// the node makes, what is left of a bucket, and whether the node still had its copy.
var varying = regexp.MustCompile(`(?m)^(?:Date|Server-Timing|Cache-Status|Last-Modified): .*$|;[rt]=\d+|\b[A-Z2-7]{26}\b|"resetAt":"[^"]*"|"(?:used|remaining)":"?\d+"?`)

// diffOfAnswers returns how two answers differ but for what varies and the order of headers.
func diffOfAnswers(want, got string) string {
	wantHead, wantBody, _ := strings.Cut(want, "\r\n\r\n")
	gotHead, gotBody, _ := strings.Cut(got, "\r\n\r\n")
	wantBody, gotBody = aroundDifference(wantBody, gotBody)
	return cmp.Diff(comparableAnswer(wantHead, wantBody), comparableAnswer(gotHead, gotBody))
}

func comparableAnswer(head, body string) string {
	lines := strings.Split(varying.ReplaceAllString(head, "…"), "\r\n")
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n") + "\n\n" + varying.ReplaceAllString(body, "…")
}

// aroundDifference returns the parts of two texts from shortly before what differs to shortly
// after it: the race detector makes a search of a whole document a matter of seconds.
func aroundDifference(a, b string) (partOfA, partOfB string) {
	const shortly = 200 // more than a match of varying has
	shorter, before, after := min(len(a), len(b)), 0, 0
	for before < shorter && a[before] == b[before] {
		before++
	}
	for after < shorter-before && a[len(a)-1-after] == b[len(b)-1-after] {
		after++
	}
	before, after = max(0, before-shortly), max(0, after-shortly)
	return a[before : len(a)-after], b[before : len(b)-after]
}

// oddTargets are requests of a route in forms that few callers use, or that are wrong.
func oddTargets(path string) []string {
	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}
	bare, query, _ := strings.Cut(path, "?")
	return []string{
		path + join, path + join + "limit=1", path + join + "limit=1&limit=2", path + join + "limit=0", path + join + "limit=",
		path + join + "bogus=1", path + join + "%zz", path + join + "a;b", path + "#part", path + join + "limit=%31",
		bare + "/?" + query, "/" + bare + "?" + query, bare + "%20?" + query, bare + "%2F?" + query, strings.ToUpper(bare) + "?" + query,
		strings.Replace(bare, "/v2/", "/v2/../v2/", 1) + "?" + query, "http://other.example.com" + path,
	}
}

// knownTable is a large table of requests: every route, well and badly asked, by
// everyone who may ask.
func knownTable(token, poor, exhausted, payment string) (table []rawRequest) {
	const id = "X-Request-Id: a-caller.s_own"
	callers := [][]string{
		{id},
		{id, internalHeader},
		{id, access.HeaderInternal + ": wrong"},
		{id, access.HeaderToken + ": " + token},
		{id, access.HeaderToken + ": " + poor},
		{id, access.HeaderToken + ": " + exhausted},
		{id, access.HeaderToken + ": pnyx_unknown"},
		{id, x402.HeaderPayment + ": bm90aGluZw=="},
	}
	wishes := [][]string{
		{"Accept-Encoding: gzip"},
		{"Accept-Encoding: br;q=0.1, zstd"},
		{"Accept-Encoding: identity;q=0"},
		{"If-None-Match: *"},
		{`If-None-Match: W/"nothing", "else"`},
		{"X-Request-Id: <not well formed>"},
		{"Origin: https://example.com"},
		{"X-Forwarded-For: 192.0.2.7", "X-Forwarded-For: 192.0.2.8"},
		{"Accept: text/html"},
		{"X-Edge-Time: 1700000000.1"},
		{"X-Edge-Fill: wrong"},
		{"Range: bytes=0-9"},
		{"Connection: close"},
		{"Content-Length: 0", "Content-Length: 0"},
		{"traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
	}
	internal := callers[1]
	add := func(method, target string, header ...[]string) {
		table = append(table, rawRequest{method, target, slices.Concat(header...)})
	}
	paths := []string{"/v2/meta/usage", "/v2/daos/nobody", "/v2/nothing", "/", "/docs", "/openapi/agent-v2.json"}
	for _, asked := range everyRoute() {
		paths = append(paths, asked.canonical)
		for _, caller := range [][]string{internal, callers[3]} {
			add(http.MethodGet, asked.other, caller)
			add(http.MethodHead, asked.other, caller)
		}
	}
	for _, path := range paths {
		for _, caller := range callers {
			add(http.MethodGet, path, caller)
			add(http.MethodHead, path, caller)
			add(http.MethodGet, "/internal/edge/authorize"+path, caller)
		}
		for _, wish := range wishes {
			add(http.MethodGet, path, internal, wish)
		}
		for _, method := range []string{http.MethodOptions, http.MethodPost, http.MethodDelete, "PROPFIND"} {
			add(method, path, internal)
		}
		for _, target := range oddTargets(path) {
			add(http.MethodGet, target, internal)
			add(http.MethodHead, target, internal)
		}
	}
	add(http.MethodGet, paidPath, []string{id, x402.HeaderPayment + ": " + payment}) // bought before
	return table
}

// TestKnownTargetsAreAnsweredAsTheRouterAnswersThem sends requests from a large table to a
// node that knows all their targets, and to one that knows none, in random order and
// concurrently. Each run takes others.
func TestKnownTargetsAreAnsweredAsTheRouterAnswersThem(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	redisURL, ledger := env.EmbeddedRedis(t), facilitator.NewLedger(t)
	fast, slow := newTillAt(t, redisURL, ledger), newTillAt(t, redisURL, ledger)
	plenty := ratelimit.Rate{PerMinute: 1_000_000_000, Burst: 1_000_000_000}
	record, token := partner(ratelimit.Custom, access.V2All)
	record.Limits = &ratelimit.Limits{Month: 1 << 40, Standard: plenty, Detail: plenty}
	small, poor := partner(ratelimit.Custom, access.V2Standard)
	small.Limits = record.Limits
	spent, exhausted := partner(ratelimit.Custom, access.V2All)
	spent.Limits = &ratelimit.Limits{Month: 1, Standard: plenty, Detail: plenty}
	fast.publishTokens(record, small, spent)
	fast.publishEverything(2)
	nothing, err := cache.NewView(cache.View{DataAsOf: dataAsOf, Readiness: governance.Ready}, []governance.Ballot{})
	if err != nil {
		t.Fatal(err)
	}
	fast.fillPages(nothing)
	for _, n := range []*till{fast, slow} {
		n.api.ForgetCopies()
		for _, one := range []string{token, poor} {
			n.waitAdmitted(one)
		}
	}
	fast.askWith(http.MethodGet, paidPath, exhausted)
	payment := fast.sign(paidPath)
	if got := fast.with(payment, paidPath); got.status != http.StatusOK {
		t.Fatalf("with a payment: got %d %s, want 200", got.status, got.body)
	}
	table := knownTable(token, poor, exhausted, payment)
	known, routed := fast.api.Handler(), slow.api.Handler()
	answered := 0
	for _, request := range table { // whoever asks first: no copy, no known target
		if request.method != http.MethodGet || !slices.Contains(request.header, internalHeader) {
			continue
		}
		if status, _, err := request.over(known, knownHost); err != nil {
			t.Fatal(err)
		} else if status == http.StatusOK && fast.api.Knows(request.target) {
			answered++
		}
	}
	if minimum := 5 * len(everyRoute()); answered < minimum {
		t.Fatalf("%d of %d requests have a known target, want at least %d", answered, len(table), minimum)
	}
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			for _, i := range rand.Perm(len(table))[:len(table)/3] {
				slow.api.ForgetTargets()
				_, got, err := table[i].over(known, knownHost)
				if err != nil {
					t.Error(err)
					return
				}
				_, want, err := table[i].over(routed, routedHost)
				if err != nil {
					t.Error(err)
					return
				}
				if diff := diffOfAnswers(want, got); diff != "" {
					t.Errorf("%s (-router +known):\n%s", table[i], diff)
					return
				}
			}
		})
	}
	asking.Wait()
	fast.wantCharged(1)
}

// TestKnownTargetsAreMeteredExactly asks for the same known targets from many
// connections, with a quota that does not last.
func TestKnownTargetsAreMeteredExactly(t *testing.T) {
	t.Parallel()
	const quota, burst, clients, each = 40, 25, 8, 20
	slowly := ratelimit.Rate{PerMinute: 1, Burst: burst}
	n := startNode(t, settings{freeRate: 3 * burst})
	n.publishEverything(2)
	record, token := partner(ratelimit.Custom, access.V2All)
	record.Limits = &ratelimit.Limits{Month: quota, Standard: ratelimit.Rate{PerMinute: 1_000_000, Burst: 1_000_000}, Detail: slowly}
	n.publishTokens(record)
	n.waitAdmitted(token)
	handler, tokened := n.api.Handler(), []string{access.HeaderToken + ": " + token}
	listed, summary := everyRoute()["proposals.list"].canonical, everyRoute()["proposals.vote-summary"].canonical
	for _, path := range []string{hotPath, listed, summary} { // internal callers are not counted
		internal := rawRequest{http.MethodGet, path, []string{internalHeader}}
		if status, _, err := internal.over(handler, knownHost); err != nil || status != http.StatusOK || !n.api.Knows(path) {
			t.Fatalf("GET %s: got %d (%v), want 200 and a known target", path, status, err)
		}
	}
	for _, c := range []struct {
		name, path string
		header     []string
		want       int64
	}{
		{"the bucket of an address", hotPath, nil, burst},
		{"the bucket of a token", summary, tokened, burst},
		{"what is left of its month", listed, tokened, quota - burst},
	} {
		t.Run(c.name, func(t *testing.T) {
			var allowed, other atomic.Int64
			var asking sync.WaitGroup
			for range clients {
				asking.Go(func() {
					for range each {
						status, _, err := rawRequest{http.MethodGet, c.path, c.header}.over(handler, knownHost)
						switch {
						case err == nil && status == http.StatusOK:
							allowed.Add(1)
						case err != nil || status != http.StatusTooManyRequests:
							other.Add(1)
						}
					}
				})
			}
			asking.Wait()
			if allowed.Load() != c.want || other.Load() != 0 {
				t.Errorf("got %d of %d requests answered and %d that are neither 200 nor 429, want %d and 0",
					allowed.Load(), clients*each, other.Load(), c.want)
			}
		})
	}
}

// TestAFloodOfTargetsLeavesTheHotOnesKnown makes a node know more targets than there is
// room for, while a few others are asked for again and again.
func TestAFloodOfTargetsLeavesTheHotOnesKnown(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.publishEverything(2)
	handler := n.api.Handler()
	get := func(path string, want int) {
		t.Helper()
		r := rawRequest{http.MethodGet, path, []string{internalHeader}}
		if status, _, err := r.over(handler, knownHost); err != nil || status != want {
			t.Fatalf("GET %s: got %d (%v), want %d", path, status, err, want)
		}
	}
	for _, bad := range []string{"/v2/daos/nobody", "/v2/daos?limit=0", "/v2/daos/uniswap?a=b", "/v2/nothing"} {
		get(bad, map[bool]int{true: http.StatusBadRequest, false: http.StatusNotFound}[strings.Contains(bad, "?")])
		if n.api.Knows(bad) {
			t.Errorf("%s is known, want only what was answered with data", bad)
		}
	}
	const distinct = 20_000
	for i := range distinct {
		if i%10 == 0 {
			get(hotPath, http.StatusOK)
			get("/v2/daos", http.StatusOK)
		}
		n.api.Learn(fmt.Sprintf("/v2/proposals?from=%d", i), hotPath)
	}
	if targets, weight := n.api.KnownTargets(); weight > 4<<20 || targets >= distinct {
		t.Errorf("got %d known targets of %d bytes, want at most 4 MiB", targets, weight)
	}
	for _, path := range []string{hotPath, "/v2/daos"} {
		if !n.api.Knows(path) {
			t.Errorf("%s is not known after %d other targets", path, distinct)
		}
	}
}
