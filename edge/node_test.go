package edge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/access"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/edge"
	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/reference"
	"pnyx/test/apinode"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

// keys are the keys of the proposals that nodes under test publish.
var keys = []governance.ProposalKey{
	"p1_f_XfJz_6yGy1gCgoSU2qbg", "p1_QTih_6Tc8DCYv4aSbi5x1Q", "p1_AAAAAAAAAAAAAAAAAAAAAA", "p1_BBBBBBBBBBBBBBBBBBBBBA",
}

// node is an API node with an edge in front of it.
type node struct {
	*nginx

	store    *cache.Store
	registry *prometheus.Registry
	// direct sends requests to the node without the edge.
	direct *nginx
	// revision is the last published revision.
	revision      atomic.Uint64
	mu            sync.Mutex
	records       []access.Token
	tokenRevision uint64
}

// freeRate is how many free requests a minute an address may send: more than any test does.
const freeRate = 6_000_000

// startNode runs a node with one DAO and some proposals, and an edge in front of it.
func startNode(tb testing.TB) *node {
	tb.Helper()
	return startPaidNode(tb, nil)
}

// startPaidNode is startNode with payments, unless ledger is nil.
func startPaidNode(tb testing.TB, ledger *facilitator.Ledger) *node {
	tb.Helper()
	env.Nginx(tb)
	served := apinode.Start(tb, apinode.Settings{
		Sample: apinode.Sample{Views: viewsOf(1, keys...)}, Payments: ledger, Unlogged: true,
		FreeRate: freeRate, Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Options: func(o *api.Options) { o.Documents = reference.Documents(reference.Node{Prices: o.Prices}) },
	})
	n := &node{nginx: startEdge(tb, served.Base), store: served.Store, registry: served.Registry, tokenRevision: 1}
	n.revision.Store(1)
	n.direct = &nginx{TB: tb, base: served.Base, client: n.client}
	return n
}

// viewsOf are the DAO and some proposals at a revision, which their titles contain.
func viewsOf(revision uint64, keys ...governance.ProposalKey) map[cache.Key]any {
	name, body := title(revision), strings.Repeat("x", 1500)
	views := map[cache.Key]any{cache.DAODetailKey("a"): governance.DAODetail{DAOID: "a", Name: name}}
	for _, key := range keys {
		views[cache.ProposalDetailKey(key)] = governance.ProposalDetail{ProposalKey: key, Title: &name, BodyText: &body}
	}
	return views
}

// publish publishes the DAO and one proposal at the next revision.
func (n *node) publish(which int) uint64 {
	n.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	revision := n.revision.Load() + 1
	writer := n.store.NewWriter(revision)
	for key, data := range viewsOf(revision, keys[which]) {
		head := cache.View{DataAsOf: governance.TimestampOf(time.Now()), Readiness: governance.Ready}
		writer.SetPayload(context.Background(), key, head, data)
	}
	env.MustDo(n, errors.Join(writer.Flush(context.Background()), env.Announce(context.Background(), n.store, revision)))
	n.revision.Store(revision)
	return revision
}

// title returns the title that responses of a revision contain.
func title(revision uint64) string { return fmt.Sprintf("revision %d.", revision) }

// partner is a caller with a token.
type partner struct {
	id, token string
}

// generous are limits that no test reaches.
func generous(month int64) *ratelimit.Limits {
	rate := ratelimit.Rate{PerMinute: 60_000_000, Burst: 1_000_000}
	return &ratelimit.Limits{Month: month, Standard: rate, Detail: rate}
}

// admit publishes tokens in addition to those already published.
func (n *node) admit(records ...access.Token) {
	n.Helper()
	n.mu.Lock()
	n.records = append(n.records, records...)
	n.mu.Unlock()
	n.publishTokens(func(access.Token) bool { return true })
}

// publishTokens publishes the tokens that are valid, as a worker does.
func (n *node) publishTokens(valid func(access.Token) bool) {
	n.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	published := []access.Token{}
	for _, record := range n.records {
		if valid(record) {
			published = append(published, record)
		}
	}
	n.tokenRevision++
	env.MustDo(n, accounts.New(n.store).SetTokens(context.Background(), n.tokenRevision, access.EncodeTokens(published)))
}

// issue creates a token with a monthly quota, and waits until the node accepts it.
func (n *node) issue(month int64, scopes ...access.Scope) partner {
	n.Helper()
	p := partner{id: access.NewTokenID()}
	p.token = access.GenerateToken(p.id)
	n.admit(access.Token{
		ID: p.id, Plan: ratelimit.Custom, Limits: generous(month), Scopes: scopes, Hash: access.HashToken(p.token),
		CreatedAt: time.Now().AddDate(-1, 0, 0),
	})
	n.waitFor(p, http.StatusOK)
	return p
}

// waitFor waits until the node itself returns a status for the usage of a token.
func (n *node) waitFor(p partner, status int) {
	n.Helper()
	env.Until(n, func() error {
		got, err := n.direct.try(http.MethodHead, "/v2/meta/usage", access.HeaderToken, p.token)
		if err == nil && got.status != status {
			err = fmt.Errorf("usage: got %d, want %d", got.status, status)
		}
		return err
	})
}

// used returns how much of its monthly quota a token has used.
func (n *node) used(p partner) int64 {
	n.Helper()
	used, err := accounts.New(n.store).QuotaUsed(context.Background(), p.id, ratelimit.MonthOf(time.Now()).String())
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		n.Fatal(err)
	}
	return used
}

// read requests a paid response.
func (n *node) read(p partner, path string, headers ...string) answer {
	n.Helper()
	return n.get(path, append([]string{access.HeaderToken, p.token}, headers...)...)
}

// titleIn returns the title in a response with data.
func titleIn(body string) string {
	var envelope struct {
		Data struct{ Title, Name string }
	}
	if json.Unmarshal([]byte(body), &envelope) != nil {
		return ""
	}
	return envelope.Data.Title + envelope.Data.Name
}

func pathOf(i int) string { return "/v2/proposals/" + string(keys[i]) }

func TestStoredResponsesDoNotSayWhatIsLeftOfAnotherCaller(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	const path, policy = "/v2/daos/a", `"free";q=2000000;w=20`
	var hits, misses int
	env.Until(t, func() error {
		got, err := n.try(http.MethodGet, path)
		if err != nil {
			return err
		}
		status, left := got.header.Get("Cache-Status"), got.header.Get("RateLimit")
		switch stored := strings.Contains(status, "pnyx-edge; hit"); {
		case stored && left != "":
			t.Fatalf("%s: got RateLimit %s of the caller who asked first", status, left)
		case !stored && !strings.HasPrefix(left, `"free";r=`):
			t.Fatalf("%s: got RateLimit %q, want the caller's", status, left)
		case stored:
			hits++
		default:
			misses++
		}
		if got := got.header.Get("RateLimit-Policy"); got != policy {
			t.Fatalf("%s: got the policy %s, want %s", status, got, policy)
		}
		if hits == 0 || misses == 0 {
			return fmt.Errorf("got %d hits and %d misses, want both", hits, misses)
		}
		return nil
	})
}

func TestFreeResponsesAreServedFromTheCache(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	const all = 10_000
	env.Concurrently(t, 16, all, func(int) error {
		if got, err := n.try(http.MethodGet, "/v2/daos/a"); err != nil || got.status != http.StatusOK {
			return fmt.Errorf("got %d %w", got.status, err)
		}
		return nil
	})
	// Revalidation takes about one request a second, however many there are.
	if got := env.Counts(t, n.registry, "pnyx_http_requests_total")["code= route=daos.detail status=200"]; got == 0 || got > all/20 {
		t.Errorf("%d requests: got %v at the origin, want some and next to none", all, got)
	}
}

// A request of HTTP/1.0 needs no Host, and a node does.
func TestRequestsWithoutAHostAreAnswered(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.issue(10, access.V2Plus)
	for _, asked := range []string{"/v2/daos/a HTTP/1.0", pathOf(0) + " HTTP/1.0\r\n" + access.HeaderToken + ": " + p.token} {
		env.Want(t, http.StatusOK, n.answerTo("GET "+asked+"\r\n\r\n").status)
	}
}

func TestPublicationReplacesCachedResponses(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.issue(100_000, access.V2All)
	for range 3 {
		n.get("/v2/daos/a")
		n.read(p, pathOf(0))
		want := title(n.publish(0))
		began := time.Now()
		var free, paid time.Duration
		env.Until(n, func() error {
			if free == 0 && titleIn(n.get("/v2/daos/a").body) == want {
				free = time.Since(began)
			}
			if paid == 0 && titleIn(n.read(p, pathOf(0)).body) == want {
				paid = time.Since(began)
			}
			if free == 0 || paid == 0 {
				return errors.New("the publication does not show")
			}
			return nil
		})
		t.Logf("shown after %s (free), %s (paid)", free, paid)
	}
}

func TestAttackCachedPaidBodyIsSentOnlyToAuthorizedCallers(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	alice, bob := n.issue(1000, access.V2All), n.issue(1000, access.V2Plus)
	small, poor := n.issue(1000, access.V2Standard, access.V1All), n.issue(2, access.V2All)
	gone := n.issue(1000, access.V2All)
	path := pathOf(0)

	first := n.read(alice, path, "X-Request-Id", "alice.1")
	n.wantBody(first, "fwd=uri-miss")
	for i := range 3 {
		got := n.read(bob, path, "X-Request-Id", "bob.1")
		n.wantBody(got, "hit")
		if got.header.Get("X-Request-Id") != "bob.1" || strings.Contains(got.body, "alice.1") || !strings.HasPrefix(got.header.Get("Cache-Control"), "private") {
			t.Errorf("headers: got %v, want Bob's own", got.header)
		}
		env.WantPart(t, fmt.Sprintf(`"month";r=%d;`, 999-i), got.header.Get("RateLimit"), "limits")
		for name, values := range got.header {
			env.Want(t, 1, len(values), name, values, "it once")
		}
	}
	n.wantUsed(map[partner]int64{alice: 1, bob: 3})
	n.wantSameWithAndWithout(alice, path)

	for name, c := range map[string]struct {
		headers []string
		status  int
		code    apierror.Code
	}{
		"nobody":                {nil, http.StatusPaymentRequired, apierror.CodePaymentRequired},
		"an internal caller":    {[]string{access.HeaderInternal, internalToken}, http.StatusPaymentRequired, apierror.CodePaymentRequired},
		"one who would fill":    {[]string{access.HeaderInternal, internalToken, api.HeaderFill, "x"}, http.StatusPaymentRequired, apierror.CodePaymentRequired},
		"a held answer, nobody": {[]string{"If-None-Match", first.header.Get("ETag")}, http.StatusPaymentRequired, apierror.CodePaymentRequired},
		"a made up token":       {[]string{access.HeaderToken, access.GenerateToken(access.NewTokenID())}, http.StatusUnauthorized, apierror.CodeUnauthorized},
		"a malformed token":     {[]string{access.HeaderToken, "x"}, http.StatusUnauthorized, apierror.CodeUnauthorized},
		"too small a scope":     {[]string{access.HeaderToken, small.token}, http.StatusForbidden, apierror.CodeForbidden},
		"a payment, none taken": {[]string{"PAYMENT-SIGNATURE", "x"}, http.StatusPaymentRequired, apierror.CodePaymentRequired},
	} {
		n.wantRefusal(name, n.get(path, c.headers...), c.status, c.code)
	}
	n.wantBody(n.read(poor, path), "hit")
	n.wantBody(n.read(poor, path), "hit")
	n.wantRefusal("an exhausted month", n.read(poor, path), http.StatusTooManyRequests, apierror.CodeQuotaExceeded)
	if got := n.read(poor, path).header.Get("Retry-After"); got == "" {
		t.Error("an exhausted month: want Retry-After")
	}
	n.wantBody(n.read(gone, path), "hit")
	began := time.Now()
	n.publishTokens(func(r access.Token) bool { return r.ID != gone.id })
	env.Until(n, func() error {
		if got := n.read(gone, path); got.status != http.StatusUnauthorized {
			return fmt.Errorf("a revoked token: got %d", got.status)
		}
		return nil
	})
	t.Logf("a revoked token is refused after %s", time.Since(began))
	n.wantRefusal("a revoked token", n.read(gone, path), http.StatusUnauthorized, apierror.CodeUnauthorized)
}

func TestOnlyResponsesWithDataCountAsUsage(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.issue(1000, access.V2All)
	etag := n.read(p, pathOf(0)).header.Get("ETag")
	for _, held := range []string{etag, "*", `"x", ` + etag, `*, "x"`, strings.TrimPrefix(etag, "W/")} {
		for range 2 {
			if got := n.read(p, pathOf(0), "If-None-Match", held); got.status != http.StatusNotModified || got.body != "" || got.header.Get("ETag") != etag {
				t.Errorf("If-None-Match: %s: got %d %v, want 304", held, got.status, got.header)
			}
		}
	}
	for path, want := range map[string]int{
		"/v2/proposals/p1_CCCCCCCCCCCCCCCCCCCCCA": http.StatusNotFound,
		"/v2/proposals/p1_x":                      http.StatusBadRequest,
		pathOf(0) + "?x=1":                        http.StatusBadRequest,
		"/v2/daos/a/voters/":                      http.StatusNotFound,
	} {
		env.Want(t, want, n.read(p, path).status, path)
	}
	if got, err := n.try(http.MethodHead, pathOf(0), access.HeaderToken, p.token); err != nil || got.status != http.StatusOK || got.header.Get("ETag") != etag {
		t.Errorf("HEAD: got %d %v %v", got.status, got.header, err)
	}
	n.wantUsed(map[partner]int64{p: 2})
	// A conditional request that nginx could answer with 304 counts as a read too.
	got := n.read(p, pathOf(0), "If-None-Match", `"x"`, "If-Modified-Since", n.read(p, pathOf(0)).header.Get("Last-Modified"), "Range", "bytes=0-1")
	n.wantBody(got, "hit")
	n.wantUsed(map[partner]int64{p: 4})
}

// wantSameWithAndWithout compares a response of the edge with the node's own.
func (n *node) wantSameWithAndWithout(p partner, path string) {
	n.Helper()
	for _, encoding := range []string{"", "gzip"} {
		byEdge := n.read(p, path, "Accept-Encoding", encoding)
		byNode := n.direct.get(path, access.HeaderToken, p.token, "Accept-Encoding", encoding)
		if byEdge.status != byNode.status {
			n.Errorf("got %d, without the edge %d", byEdge.status, byNode.status)
		}
		for _, name := range []string{
			"Content-Type", "Content-Encoding", "Etag", "Last-Modified", "Cache-Control", "Vary", "Ratelimit-Policy",
			"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "X-Content-Type-Options", "Link",
		} {
			if got, want := byEdge.header.Values(name), byNode.header.Values(name); fmt.Sprint(got) != fmt.Sprint(want) {
				n.Errorf("encoding %q, %s: got %q, without the edge %q", encoding, name, got, want)
			}
		}
	}
}

// wantBody checks for a response with data, and for its Cache-Status at the edge.
func (n *node) wantBody(got answer, status string) {
	n.Helper()
	if got.status != http.StatusOK || titleIn(got.body) == "" || got.header.Get("ETag") == "" {
		n.Fatalf("got %d %v %.200s, want the body", got.status, got.header, got.body)
	}
	if by := got.header.Get("Cache-Status"); !strings.HasSuffix(by, "pnyx-edge; "+status) {
		n.Errorf("Cache-Status: got %s, want %s", by, status)
	}
}

// wantRefusal checks for an error in the envelope, without any data.
func (n *node) wantRefusal(who string, got answer, status int, code apierror.Code) {
	n.Helper()
	if got.status != status || !strings.Contains(got.body, `{"error":{"code":"`+string(code)+`"`) || strings.Contains(got.body, "revision") ||
		got.header.Get("Cache-Control") != "no-store" || got.header.Get("ETag") != "" {
		n.Errorf("%s: got %d %v %s, want %d %s and no body", who, got.status, got.header, got.body, status, code)
	}
}

func (n *node) wantUsed(want map[partner]int64) {
	n.Helper()
	for p, want := range want {
		if got := n.used(p); got != want {
			n.Errorf("used: got %d, want %d", got, want)
		}
	}
}

// revisionIn returns the revision in the title of a response, 0 for none.
func revisionIn(body string) uint64 {
	text := strings.TrimSuffix(strings.TrimPrefix(titleIn(body), "revision "), ".")
	revision, _ := strconv.ParseUint(text, 10, 64) // zero is what it is then
	return revision
}

// TestPagesForPeoplePassTheEdgeAndAreNeverStored checks it for pages that a node calls
// public: with a token the same address has another content.
func TestPagesForPeoplePassTheEdgeAndAreNeverStored(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=3600, s-maxage=3600")
		_, _ = w.Write([]byte(r.Header.Get(access.HeaderToken) + " " + r.Header.Get(access.HeaderInternal)))
	})
	e := startEdge(t, o.URL)
	paths := []string{"/explore", "/explore/daos/uniswap?metric=votes_cast", "/explore/proposals/p1_x", "/explore/voters/0x1"}
	for _, path := range paths {
		if got := e.get(path, access.HeaderToken, "the-token", access.HeaderInternal, internalToken); got.status != http.StatusOK || got.body != "the-token " {
			t.Errorf("%s with a token: got %d %q, want the answer of the node to the token alone", path, got.status, got.body)
		}
		if got := e.get(path); got.body != " " || got.header.Get("Cache-Status") != "pnyx-edge; fwd=bypass" {
			t.Errorf("%s without a token: got %v %q, want the answer of the node", path, got.header, got.body)
		}
	}
	e.wantMetrics(map[string]float64{"pnyx_edge_requests_total cache=none route=explore status=200": 8})
}

func TestWorkersOfNginxMayOpenWhatTheyAreConfiguredFor(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	env.MustDo(t, edge.Write(&text, edge.Options{
		Listen: "127.0.0.1:8000", AdminListen: ":8001", Origin: "http://127.0.0.1:8080", Dir: t.TempDir(), Modules: env.NginxModules,
	}))
	number := func(pattern string) int {
		t.Helper()
		found := regexp.MustCompile(pattern).FindStringSubmatch(text.String())
		if found == nil {
			t.Fatalf("nginx.conf has no %s", pattern)
		}
		return env.Must(strconv.Atoi(found[1]))(t)
	}
	most := number(`worker_rlimit_nofile (\d+);`)
	if need := number(`worker_connections (\d+);`) + number(`open_file_cache max=(\d+) `); most < need {
		t.Errorf("got %d descriptors, want at least the %d of connections and cached files", most, need)
	}
}

func TestOnlyFailuresAndASampleAreLogged(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/daos/broken" {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	for sample, wantAll := range map[uint64]bool{0: false, 1: true} {
		e := startEdge(t, o.URL, func(o *edge.Options) { o.LogSample = sample })
		for _, path := range []string{"/v2/daos/fine", "/v2/daos/broken"} {
			e.get(path)
		}
		env.Until(e, func() error {
			if !strings.Contains(e.requests.String(), "/v2/daos/broken") {
				return errors.New("the failure is not logged")
			}
			return nil
		})
		env.Want(t, wantAll, strings.Contains(e.requests.String(), "/v2/daos/fine"), "sample", sample, "a request that did not fail is logged")
	}
}
