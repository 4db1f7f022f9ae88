package api_test

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/governance"
	"pnyx/test/env"
)

func TestCrossOriginRequestsAreAllowed(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, path := range []string{"/v2/daos", "/v2/daos/nobody", "/v2/daos?limit=0", "/nowhere", "/llms.txt"} {
		got := n.ask(http.MethodGet, path, http.Header{"Origin": {"https://dapp.example"}})
		env.Want(t, "*", got.header.Get("Access-Control-Allow-Origin"), "GET", path, "the origin", "any")
		// Every header, of a request that cannot have brought a cookie.
		exposed, credentials := got.header.Get("Access-Control-Expose-Headers"), got.header.Get("Access-Control-Allow-Credentials")
		if exposed != "*" || credentials != "" {
			t.Errorf("GET %s: got the headers %q exposed, and credentials %q; want all, and none", path, exposed, credentials)
		}
	}
}

func TestAttackCallerInputCannotInjectHeaders(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const line = "%0D%0ASet-Cookie:%20a=b%0D%0A"
	for _, path := range []string{
		"/v2/daos/nobody" + line, "/v2/daos?limit=1" + line, "/v2/daos?hasVoteData=true&cursor=" + line,
		"/v2/meta/data-status?daoId=" + line, "/v2/meta/pricing?" + line,
	} {
		got := n.ask(http.MethodGet, path, http.Header{access.HeaderInternal: {internalToken}})
		env.Want(t, "", got.header.Get("Set-Cookie"), "GET", path, "the header")
	}
}

func TestOPTIONSListsMethodsAndHeaders(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, path := range []string{"/v2/daos", summaryPath(countedKey), "/openapi/agent-v2.json", "/docs"} {
		got := n.ask(http.MethodOptions, path, http.Header{
			"Origin": {"https://dapp.example"}, "Access-Control-Request-Method": {"GET"},
			"Access-Control-Request-Headers": {"x-service-api-token"},
		})
		if got.status != http.StatusNoContent || got.body != "" {
			t.Errorf("OPTIONS %s: got %d %q, want 204", path, got.status, got.body)
		}
		for name, want := range map[string]string{
			"Allow":                        "GET, HEAD, OPTIONS",
			"Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
			"Access-Control-Allow-Headers": "X-Service-Api-Token, PAYMENT-SIGNATURE, X-PAYMENT, Access-Control-Expose-Headers, If-None-Match, Range, If-Range, Last-Event-ID, X-Request-Id",
			"Access-Control-Allow-Origin":  "*",
		} {
			env.Want(t, want, got.header.Get(name), "OPTIONS", path, name)
		}
	}
	n.wantFailure(n.ask(http.MethodOptions, "/v2/brief", nil), http.StatusNotFound, apierror.CodeNotFound)
}

func TestURLsThatAreTooLongAreRejected(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	base := "/v2/daos?cursor="
	got := n.wantFailure(n.get(base+strings.Repeat("x", 8193-len(base))), http.StatusRequestURITooLong, apierror.CodeValidation)
	env.Want(t, `{"allowed":8192,"given":8193}`, string(got.Error.Details))
	n.wantFailure(n.get(base+strings.Repeat("x", 8192-len(base))), http.StatusBadRequest, apierror.CodeValidation)
}

func TestMethodThatIsTooLongIsTruncated(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	got := n.wantFailure(n.ask(strings.Repeat("A", 500), "/v2/daos", nil), http.StatusMethodNotAllowed, apierror.CodeMethodNotAllowed)
	env.Want(t, strings.Repeat("A", 20)+" is not allowed here", got.Error.Message)
}

func TestAnswersAreCompressedInAnAcceptedEncoding(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.writeDAOs(2, daos(strings.Split(strings.Repeat("a long name of a DAO,", 40)+"z", ",")...)...)
	var many []governance.DAOListItem
	for i := range 60 {
		many = append(many, daos(strings.Repeat("d", i+1))...)
	}
	n.writeDAOs(3, many...)
	plain := n.get("/v2/daos?limit=60")
	for accept, want := range map[string]string{
		"":                            "",
		"gzip":                        "gzip",
		"br":                          "br",
		"zstd":                        "zstd",
		"gzip, deflate, br, zstd":     "gzip",
		"zstd, gzip;q=0.5":            "zstd",
		"gzip;q=0":                    "",
		"identity, gzip;q=0.5":        "",
		"deflate":                     "",
		"br;q=0.1, gzip;q=0.2, *;q=0": "gzip",
		"gzip;q=0, *;q=0.5":           "zstd",
		"GZIP;Q=0.5":                  "gzip",
	} {
		t.Run(accept, func(t *testing.T) {
			header := http.Header{"X-Request-Id": {"same"}}
			if accept != "" {
				header.Set("Accept-Encoding", accept)
			}
			got := n.ask(http.MethodGet, "/v2/daos?limit=60", header)
			if encoding := got.header.Get("Content-Encoding"); encoding != want || got.header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%q: got %q (Vary %q), want %q", accept, encoding, got.header.Get("Vary"), want)
			}
			body := unpacked(t, want, got.body)
			env.Want(t, dataOf(t, plain.body), dataOf(t, body), accept)
			if want != "" && len(got.body)*3 > len(body) {
				t.Errorf("%q: got %d bytes for %d", accept, len(got.body), len(body))
			}
		})
	}
	small := n.ask(http.MethodGet, "/v2/daos?limit=1", http.Header{"Accept-Encoding": {"gzip"}})
	env.Want(t, "", small.header.Get("Content-Encoding"), "a small answer comes")
}

func unpacked(t *testing.T, encoding, body string) string {
	t.Helper()
	reader := io.Reader(strings.NewReader(body))
	switch encoding {
	case "gzip":
		unzipped := env.Must(gzip.NewReader(reader))(t)
		reader = unzipped
	case "br":
		reader = brotli.NewReader(reader)
	case "zstd":
		unzipped := env.Must(zstd.NewReader(reader))(t)
		defer unzipped.Close()
		reader = unzipped
	}
	text := env.Must(io.ReadAll(reader))(t)
	return string(text)
}

func dataOf(t *testing.T, body string) string {
	t.Helper()
	var envelope struct{ Data json.RawMessage }
	env.Decode(t, []byte(body), &envelope)
	return string(envelope.Data)
}

func TestAnswersCarryServerTiming(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, path := range []string{"/v2/daos", "/v2/daos/nobody", "/docs"} {
		if got := n.get(path).header.Get("Server-Timing"); !regexp.MustCompile(`^app;dur=\d+\.\d{3}$`).MatchString(got) {
			t.Errorf("GET %s: got the timing %q", path, got)
		}
	}
}

func TestHomeIsAPageForBrowsers(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	browser := http.Header{"Accept": {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}}
	if got := n.ask(http.MethodGet, "/", browser); got.status != http.StatusOK || !strings.Contains(got.body, `href="/docs/guides/partners"`) ||
		!strings.HasPrefix(got.header.Get("Vary"), "Accept,") {
		t.Errorf("a browser: got %d, Vary %q, want the first page: %s", got.status, got.header.Get("Vary"), got.body)
	}
	for _, accept := range []string{"", "*/*", "application/json"} {
		got := n.wantFailure(n.ask(http.MethodGet, "/", http.Header{"Accept": {accept}}), http.StatusNotFound, apierror.CodeNotFound)
		env.WantPart(t, "/openapi/agent-v2.json", got.Error.Message, "a program")
	}
	if got := n.ask(http.MethodHead, "/docs/guides/rules.md", nil); got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Type"), "text/markdown") {
		t.Errorf("HEAD of a guide: got %d %v, want Markdown", got.status, got.header)
	}
	if got := n.get("/docs/guides"); got.status != http.StatusMovedPermanently || got.header.Get("Location") != "/docs" {
		t.Errorf("the guides: got %d %v, want a redirect", got.status, got.header)
	}
	n.wantFailure(n.get("/docs/guides/nothing"), http.StatusNotFound, apierror.CodeNotFound)
}

func TestLLMsTextAndCatalogListEveryRoute(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{timeout: 100 * time.Millisecond})
	guide := n.get("/llms.txt")
	for _, route := range routes.All() {
		env.WantPart(t, "GET "+route.Path+": "+route.Summary, guide.body, "llms.txt does not have")
		for _, one := range route.Params {
			if one.In == param.InQuery && !strings.Contains(guide.body, one.Name+" (") {
				t.Errorf("llms.txt does not have %s", one.Name)
			}
		}
	}
	for _, info := range api.Codes(false) {
		env.WantPart(t, string(info.Code), guide.body, "llms.txt does not have")
	}
	catalog := n.get("/.well-known/api-catalog")
	if kind := catalog.header.Get("Content-Type"); !strings.HasPrefix(kind, "application/linkset+json") {
		t.Errorf("the catalog's type is %q", kind)
	}
	var links struct {
		Linkset []map[string]json.RawMessage `json:"linkset"`
	}
	env.Decode(t, []byte(catalog.body), &links)
	for _, relation := range []string{"service-desc", "service-doc", "service-meta", "item"} {
		var targets []struct{ Href string }
		if err := json.Unmarshal(links.Linkset[0][relation], &targets); err != nil || len(targets) == 0 {
			t.Errorf("the catalog's %s: got %s, %v", relation, links.Linkset[0][relation], err)
		}
		for _, target := range targets {
			if got := n.get(target.Href); got.status == http.StatusNotFound {
				t.Errorf("the catalog leads to %s, which is not there", target.Href)
			}
		}
	}
}

func TestDocumentsAnswer304(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, path := range []string{"/openapi/agent-v2.json", "/llms.txt", "/docs", "/docs/page.js", "/docs/guides/rules"} {
		first := n.get(path)
		again := n.ask(http.MethodGet, path, http.Header{"If-None-Match": {first.header.Get("ETag")}})
		if first.status != http.StatusOK || again.status != http.StatusNotModified || again.body != "" {
			t.Errorf("GET %s: got %d, then %d with %d bytes, want 200, then 304", path, first.status, again.status, len(again.body))
		}
		zipped := n.ask(http.MethodGet, path, http.Header{"Accept-Encoding": {"gzip"}})
		env.Want(t, first.body, unpacked(t, zipped.header.Get("Content-Encoding"), zipped.body), "GET", path, "another text when it is compressed")
	}
}

func TestAttackOtherSpellingsOfAPaidRouteAreNotAnswered(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	votes := detailPath + "/votes/summary"
	for name, target := range map[string]string{
		"absolute address":         "http://pnyx" + detailPath,
		"absolute, another host":   "http://127.0.0.1:1" + detailPath,
		"absolute, with a user":    "http://x@pnyx" + detailPath,
		"two slashes":              "//v2" + detailPath[len("/v2"):],
		"two slashes within":       strings.Replace(votes, "/votes", "//votes", 1),
		"dots":                     "/v2/daos/.." + detailPath[len("/v2"):],
		"single dot":               "/v2/." + detailPath[len("/v2"):],
		"escaped dots":             "/v2/daos/%2e%2e" + detailPath[len("/v2"):],
		"escaped slash":            strings.Replace(votes, "/votes/", "%2fvotes%2F", 1),
		"escaped letter":           strings.Replace(detailPath, "proposals", "%70roposals", 1),
		"upper case":               strings.Replace(detailPath, "proposals", "Proposals", 1),
		"slash at the end":         detailPath + "/",
		"backslash":                strings.ReplaceAll(detailPath, "/", `\`),
		"semicolon":                detailPath + ";free",
		"fragment":                 detailPath + "#x",
		"free route in front":      "/v2/daos?/../" + detailPath,
		"what an edge asks":        api.PathAuthorize + detailPath,
		"what an edge asks, twice": api.PathAuthorize + api.PathAuthorize + detailPath,
		"body at the edge":         api.PathBody + "x",
	} {
		for _, method := range []string{"GET", "OPTIONS", "POST", "get", "GET\t", "TRACE", "CONNECT"} {
			t.Run(name+" "+method, func(t *testing.T) {
				status, answer := n.with(t).raw(method + " " + target + " HTTP/1.1\r\nHost: pnyx\r\nConnection: close\r\n" +
					"X-Original-URL: " + detailPath + "\r\nX-HTTP-Method-Override: GET\r\nRange: bytes=0-9\r\nIf-None-Match: *\r\n\r\n")
				if strings.Contains(answer, `"data"`) || strings.Contains(answer, "Etag:") || status == http.StatusPartialContent {
					t.Errorf("got %d %s, want nothing of the data", status, answer)
				}
			})
		}
	}
}

func TestAttackRangesAndHeldAnswersOfStrangersLeakNothing(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	etag := n.get(detailPath).header.Get("Etag")
	for name, header := range map[string]http.Header{
		"range":           {"Range": {"bytes=0-9"}},
		"range, held":     {"Range": {"bytes=0-9"}, "If-Range": {etag}},
		"held":            {"If-None-Match": {etag}},
		"anything held":   {"If-None-Match": {"*"}},
		"held since":      {"If-Modified-Since": {"Mon, 02 Jan 2040 15:04:05 GMT"}},
		"unless it holds": {"If-Match": {`"x"`}},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			t.Run(name+" "+method, func(t *testing.T) {
				got := n.askAs(method, detailPath, header)
				if got.status != http.StatusPaymentRequired || got.header.Get("Etag") != "" || got.header.Get("Link") != "" || got.header.Get("Last-Modified") != "" {
					t.Errorf("got %d %v, want 402 without a word on the answer", got.status, got.header)
				}
			})
		}
	}
	// With the right to the answer, a range is the whole.
	if got := n.ask(http.MethodGet, detailPath, http.Header{"Range": {"bytes=0-9"}}); got.status != http.StatusOK || got.header.Get("Content-Range") != "" {
		t.Errorf("got %d %v, want the whole answer", got.status, got.header)
	}
}

func TestAttackBombsAreRefusedUnopened(t *testing.T) {
	t.Parallel()
	n := newTill(t)
	for name, text := range map[string]string{
		"lists":   strings.Repeat("[", 15<<10),
		"objects": strings.Repeat(`{"a":`, 3<<10),
		"payload": `{"x402Version":2,"payload":` + strings.Repeat("[", 15<<10),
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{x402.HeaderPayment: {base64.StdEncoding.EncodeToString([]byte(text))}}
			n.node.with(t).wantFailure(n.askAs(http.MethodGet, paidPath, header), http.StatusBadRequest, apierror.CodeValidation)
		})
	}
	env.Want(t, 0, n.ledger.Calls("verify"), "calls of the facilitator")
}

func TestAttackHalfARequestEndsItsConnection(t *testing.T) {
	t.Parallel()
	n := startNode(t, settings{readTimeout: 100 * time.Millisecond})
	for name, half := range map[string]string{
		"line":    "GET /v2/da",
		"headers": "GET /v2/daos HTTP/1.1\r\nHost: pnyx\r\nX-A: b\r\n",
		"body":    "POST /v2/daos HTTP/1.1\r\nHost: pnyx\r\nContent-Length: 100\r\n\r\nx",
	} {
		t.Run(name, func(t *testing.T) {
			// It ends by itself, with or without a word.
			if text, err := io.ReadAll(n.with(t).send(half)); err != nil || strings.Contains(string(text), " 200 ") {
				t.Errorf("got %q, %v, want the end of the connection", text, err)
			}
		})
	}
}
