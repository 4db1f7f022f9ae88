package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pnyx/access"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/cache"
	"pnyx/ratelimit"
	"pnyx/reference"
	"pnyx/test/env"
)

// askAsEdge asks for permission, on behalf of a caller with some headers.
func (t *node) askAsEdge(method, path string, header http.Header) answer {
	t.Helper()
	header = header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set(access.HeaderInternal, internalToken)
	return t.askAs(method, api.PathAuthorize+path, header)
}

func TestPermissionHasTheHeadersOfTheAnswer(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.admitsOne(ratelimit.Custom, access.V2All)
	caller := http.Header{access.HeaderToken: {token}}

	permitted := n.askAsEdge(http.MethodGet, detailPath, caller)
	name := strings.TrimPrefix(permitted.header.Get("X-Accel-Redirect"), api.PathBody)
	if permitted.status != http.StatusOK || permitted.body != "" || len(name) < 40 || permitted.header.Get("RateLimit") == "" {
		t.Fatalf("got %d %v %s, want a permission", permitted.status, permitted.header, permitted.body)
	}
	for wanted, keep := range map[string]string{name: "3600", "another": "0", "": ""} {
		t.Run(wanted, func(t *testing.T) {
			got := n.ask(http.MethodGet, detailPath, http.Header{api.HeaderFill: {wanted}})
			if got.status != http.StatusOK || got.body == "" || got.header.Get("X-Accel-Expires") != keep || got.header.Get("Etag") != permitted.header.Get("Etag") {
				t.Errorf("body %q: got %d %v, want X-Accel-Expires %q", wanted, got.status, got.header, keep)
			}
		})
	}
	env.Want(t, "", n.askAs(http.MethodGet, detailPath, http.Header{access.HeaderToken: {token}, api.HeaderFill: {name}}).header.Get("X-Accel-Expires"), "a partner may keep for others")
	again := n.askAsEdge(http.MethodGet, detailPath+"?", caller)
	env.Want(t, api.PathBody+name, again.header.Get("X-Accel-Redirect"), "another spelling", "the same name")
	for path, want := range map[string]int{
		detailPath + "?x=1": http.StatusBadRequest, "/v2/proposals/" + string(unknownKey): http.StatusNotFound, "/nowhere": http.StatusNotFound,
	} {
		t.Run(path, func(t *testing.T) {
			if got := n.askAsEdge(http.MethodGet, path, caller); got.status != want || got.header.Get("X-Accel-Redirect") != "" || strings.Contains(got.body, "internal") {
				t.Errorf("%s: got %d %v %s, want %d", path, got.status, got.header, got.body, want)
			}
		})
	}
	held := http.Header{access.HeaderToken: {token}, "If-None-Match": permitted.header["Etag"]}
	env.Want(t, http.StatusNotModified, n.askAsEdge(http.MethodGet, detailPath, held).status, "a held answer")
	if got := n.askAsEdge(http.MethodHead, detailPath, caller); got.status != http.StatusOK || got.header.Get("X-Accel-Redirect") != "" {
		t.Errorf("HEAD: got %d %v, want the answer itself", got.status, got.header)
	}
	if got := n.askAsEdge(http.MethodGet, "/v2/daos", nil); got.status != http.StatusOK || got.body == "" {
		t.Errorf("a free answer: got %d, want it with its body", got.status)
	}
	n.wantFailure(n.askAsEdge(http.MethodGet, detailPath, nil), http.StatusPaymentRequired, apierror.CodePaymentRequired)
}

// Redis keeps a page for minutes, and edges a body for an hour: a page that is made again of the
// same rows is later, and no other body. Of two nodes, one may have a copy of the earlier page.
func TestPageThatIsMadeAgainIsTheSameBodyAtTheEdge(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.admitsOne(ratelimit.Custom, access.V2All)
	const path = "/v2/signals?from=2026-01-01&to=2026-02-01"
	request := cache.NewPageRequest(januarySignals())
	body := func() string {
		t.Helper()
		permitted := n.askAsEdge(http.MethodGet, path, http.Header{access.HeaderToken: {token}})
		if permitted.status != http.StatusOK || permitted.header.Get("X-Accel-Redirect") == "" {
			t.Fatalf("got %d %v %s, want a permission", permitted.status, permitted.header, permitted.body)
		}
		return strings.TrimPrefix(permitted.header.Get("X-Accel-Redirect"), api.PathBody)
	}
	remake := func(change func(*cache.View)) {
		t.Helper()
		view, _, err := n.Store.Page(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		change(&view)
		env.MustDo(t, n.Store.Fills().Complete(t.Context(), []cache.CompletedFill{{Page: request, View: &view}})[0])
		n.API.ForgetCopies()
	}
	first := body()
	remake(func(view *cache.View) { view.DataAsOf += 60_000 })
	env.Want(t, first, body(), "body that is made again")
	env.Want(t, "3600", n.ask(http.MethodGet, path, http.Header{api.HeaderFill: {first}}).header.Get("X-Accel-Expires"), "an edge that asks for the body")
	remake(func(view *cache.View) { view.Revision++ })
	if got := body(); got == first {
		t.Error("of other rows: got the same body")
	}
}

func TestAttackPermissionRequiresAnInternalToken(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.admitsOne(ratelimit.Custom, access.V2All)
	for name, header := range map[string]http.Header{
		"a partner":       {access.HeaderToken: {token}},
		"a wrong token":   {access.HeaderToken: {token}, access.HeaderInternal: {"wrong"}},
		"nobody":          {},
		"an empty secret": {access.HeaderInternal: {""}},
	} {
		t.Run(name, func(t *testing.T) {
			got := n.askAs(http.MethodGet, api.PathAuthorize+detailPath, header)
			if got.status != http.StatusNotFound || got.header.Get("X-Accel-Redirect") != "" {
				t.Errorf("%s: got %d %v, want that there is no such path", name, got.status, got.header)
			}
		})
	}
	for _, document := range []string{"/openapi/agent-v2.json", "/llms.txt", "/docs", "/.well-known/api-catalog"} {
		if got := n.get(document); strings.Contains(got.body, api.PathAuthorize) {
			t.Errorf("%s tells of the internal path", document)
		}
	}
}

func TestAttackTheClockOfAnEdgeIsNearTheNodes(t *testing.T) {
	t.Parallel()
	// A purge reaches the cache in front of an edge, and not the edge.
	n := startNode(t, settings{purged: true, trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}})
	got := n.askAs(http.MethodGet, "/v2/daos", http.Header{api.HeaderTime: {fmt.Sprintf("%d.123", noon.Unix())}})
	env.Want(t, fmt.Sprintf("@%d", noon.Unix()), got.header.Get("X-Accel-Expires"), "X-Accel-Expires", "to the end of the second")
	names := slices.Collect(func(yield func(string) bool) {
		for line := range strings.Lines(n.rawHead("/v2/daos", fmt.Sprintf("%s: %d.123", api.HeaderTime, noon.Unix()))) {
			if name, _, is := strings.Cut(line, ":"); is && !yield(name) {
				return
			}
		}
	})
	if slices.Index(names, "X-Accel-Expires") < slices.Index(names, "Cache-Control") {
		t.Errorf("got %v, want X-Accel-Expires last: nginx would not read what follows it", names)
	}
	for clock, want := range map[string]string{ // what a proxy passes on may be the caller's
		"": "", "-1": "", "0": "", "99999999999": "", "9223372036854775807": "", fmt.Sprint(noon.Unix() + 6): "", fmt.Sprint(noon.Unix() - 6): "", fmt.Sprintf("%d.123", noon.Unix()): fmt.Sprintf("@%d", noon.Unix()),
	} {
		env.Want(t, want, n.ask(http.MethodGet, "/v2/daos", http.Header{api.HeaderTime: {clock}}).header.Get("X-Accel-Expires"), "a clock", clock)
	}
}

func TestAttackClockOfAStrangerIsIgnored(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	got := n.askAs(http.MethodGet, "/v2/daos", http.Header{api.HeaderTime: {"99999999999"}})
	if keep := got.header.Get("X-Accel-Expires"); got.status != http.StatusOK || keep != "" {
		t.Errorf("got %d, X-Accel-Expires %q, want an answer without it", got.status, keep)
	}
}

func TestPathsListsEveryDocument(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, path := range reference.Paths() {
		if got := n.get(path); got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Cache-Control"), "public") {
			t.Errorf("%s: got %d %v, want a document for all", path, got.status, got.header)
		}
	}
}

// rawHead is the head of an answer, in the order in which it was sent.
func (t *node) rawHead(path, header string) string {
	t.Helper()
	text := env.Must(io.ReadAll(t.send("GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + header + "\r\n\r\n")))(t)
	head, _, _ := strings.Cut(string(text), "\r\n\r\n")
	return head
}
