package explore_test

import (
	"net/http"
	"strings"
	"testing"

	"pnyx/access"
	"pnyx/test/apinode"
	"pnyx/test/env"
)

func TestPagesWithoutATokenMayBeCached(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, path := range []string{"/explore", "/explore/daos/dao-000", "/explore/proposals/" + string(sampleKey)} {
		got := n.send(http.MethodGet, path)
		etag := got.Header.Get("ETag")
		if control := got.Header.Get("Cache-Control"); !strings.HasPrefix(control, "public, max-age=1,") || etag == "" {
			t.Errorf("%s: got %q and the ETag %q, want public", path, control, etag)
		}
		env.Want(t, "Accept-Encoding, X-Service-Api-Token, Authorization", got.Header.Get("Vary"), path, "Vary")
		if again := n.send(http.MethodGet, path, "If-None-Match", etag); again.Status != http.StatusNotModified || again.Body != "" {
			t.Errorf("%s, again: got %d %s, want 304", path, again.Status, again.Body)
		}
		if head := n.send(http.MethodHead, path); head.Status != http.StatusOK || head.Body != "" || head.Header.Get("ETag") != etag {
			t.Errorf("HEAD %s: got %d %q, want what GET has", path, head.Status, head.Header)
		}
	}
	env.Want(t, "public, max-age=1, s-maxage=1", n.send(http.MethodGet, "/explore/daos/nobody").Header.Get("Cache-Control"), "404", "a second")
	env.Want(t, "no-store", n.send(http.MethodGet, "/explore?limit=3").Header.Get("Cache-Control"), "400")
}

func TestPagesWithCredentialsAreStoredByNobody(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, header := range [][]string{asInternal(), {access.HeaderToken, "pnyx_token"}, {"Authorization", "Bearer pnyx_token"}} {
		for _, path := range []string{"/explore", "/explore/daos/dao-000", "/explore/daos/nobody"} {
			got := n.send(http.MethodGet, path, header...)
			if control, etag := got.Header.Get("Cache-Control"), got.Header.Get("ETag"); control != "private, no-store" || etag != "" {
				t.Errorf("%s with %s: got %q and the ETag %q, want private, no-store", path, header[0], control, etag)
			}
		}
	}
}

func TestPagesAreReadOnly(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const path = "/explore/daos/dao-000"
	if got := n.send(http.MethodPost, path); got.Status != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("POST: got %d, Allow %q, want 405", got.Status, got.Header.Get("Allow"))
	}
	if got := n.send(http.MethodOptions, path); got.Status != http.StatusNoContent || got.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("OPTIONS: got %d, Allow %q, want 204", got.Status, got.Header.Get("Allow"))
	}
	if got := n.send(http.MethodGet, path+"/"); got.Status != http.StatusMovedPermanently || got.Header.Get("Location") != path {
		t.Errorf("with a slash: got %d %q, want a redirect to %s", got.Status, got.Header.Get("Location"), path)
	}
	policy := n.send(http.MethodGet, path).Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") || !strings.Contains(policy, "form-action 'self'") {
		t.Errorf("got the policy %q", policy)
	}
}

func TestFreeRoutesOfAPageAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	n := startNode(t, apinode.Settings{FreeRate: 1})
	for range 10 {
		got := n.send(http.MethodGet, "/explore")
		if got.Status == http.StatusOK {
			continue
		}
		if got.Status != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" || !strings.Contains(got.Body, "<code>RATE_LIMITED</code>") ||
			got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("got %d %q %s, want a page that says RATE_LIMITED", got.Status, got.Header, got.Body)
		}
		return
	}
	t.Error("ten pages are read in the minute of one free request")
}

// TestRequestsAreCountedAndLogged reads pages, and looks at what remains of that.
func TestRequestsAreCountedAndLogged(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.Admit(ample(), access.V2All)
	for path, status := range map[string]int{
		"/explore/daos": 200, "/explore/daos/nobody": 404, "/explore/proposals/" + string(sampleKey): 200, "/explore/nothing": 404,
	} {
		env.Want(t, status, n.send(http.MethodGet, path, access.HeaderToken, token).Status, "GET", path)
	}
	counts := env.Counts(t, n.Registry, "pnyx_http_requests_total")
	for series, want := range map[string]float64{
		"code= route=explore status=200": 2, "code=NOT_FOUND route=explore status=404": 2, "code= route=daos.list status=200": 1,
		"code=NOT_FOUND route=daos.detail status=404": 1, "code= route=proposals.votes status=200": 1,
	} {
		env.Want(t, want, counts[series], series, "requests")
	}
	log := n.Logged.String()
	for _, line := range []string{`"route":"explore","status":200`, `"route":"explore","status":404`, `"path":"/explore/daos/nobody"`, `"route":"proposals.votes","status":200`} {
		env.WantPart(t, line, log, "the log lacks")
	}
	if strings.Contains(log, token) || strings.Contains(log, token[:20]) {
		t.Error("the log has the token")
	}
}
