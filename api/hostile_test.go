package api_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/test/env"
)

// A request whose body would have to be decoded is refused on every path, before anything
// reads the body.
func TestAttackEncodedBodiesAreRefusedOnEveryPath(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, asked := range []string{"POST /v2/daos", "GET /v2/daos", "GET /docs", "GET /llms.txt", "POST /nothing", "OPTIONS /v2/daos", "BREW /v2/daos"} {
		for name, lines := range map[string]string{
			"gzip": "Content-Encoding: gzip\r\n", "gzip twice": "content-encoding: gzip, gzip\r\n", "two lines": "Content-Encoding: br\r\nContent-Encoding: identity\r\n",
			"zstd": "Content-Encoding: zstd\r\n", "deflate": "Content-Encoding: deflate\r\n", "identity": "CONTENT-ENCODING: identity\r\n",
			"unknown": "Content-Encoding: x-no-such\r\n", "empty": "Content-Encoding:\r\n", "two, one empty": "Content-Encoding:\r\n" + "Content-Encoding: br\r\n",
		} {
			t.Run(asked+" "+name, func(t *testing.T) {
				n := n.with(t)
				status, text := n.raw(asked + " HTTP/1.1\r\nHost: pnyx\r\n" + access.HeaderInternal + ": " + internalToken + "\r\n" + lines + "Content-Length: 3\r\nConnection: close\r\n\r\nabc")
				if status != http.StatusUnsupportedMediaType || !strings.Contains(text, "\r\nAccept-Encoding: identity\r\n") || !strings.Contains(text, `"code":"VALIDATION_ERROR"`) {
					t.Errorf("got %d %s, want 415 in the envelope", status, text)
				}
			})
		}
	}
}

// A form is read as any other body: no part of it becomes a file or is parsed.
func TestAttackFormsAreNotParsed(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const form = "--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"a\"\r\n\r\nx\r\n--b--\r\n"
	for name, body := range map[string]string{"a form": form, "no form": "this is no form"} {
		for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
			status, text := n.raw(fmt.Sprintf("POST /v2/daos HTTP/1.1\r\nHost: pnyx\r\n%sConnection: close\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n%s", expect, len(body), body))
			if expect != "" && status == http.StatusContinue {
				continue // what follows is the same answer
			}
			env.Want(t, http.StatusMethodNotAllowed, status, name, text, "405, whatever the body is")
		}
	}
}

// A caller announces in headers what it accepts. Sorting that takes a time that grows with the
// square of its length.
func TestAttackLongNegotiationsAreRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	long := strings.Repeat("a;q=.1,", 2000) + strings.Repeat("b,", 4000)
	for _, name := range []string{"Accept", "Accept-Encoding"} {
		for _, path := range []string{"/v2/daos", "/v2/changes", "/docs", "/", "/nothing"} {
			got := n.ask(http.MethodGet, path, http.Header{name: {long}})
			n.wantFailure(got, http.StatusRequestHeaderFieldsTooLarge, apierror.CodeValidation)
		}
	}
	env.Want(t, http.StatusOK, n.ask(http.MethodGet, "/v2/daos", http.Header{"Accept": {strings.Repeat("a/b,", 250)}}).status, "an Accept of 1 KB")
}

// Only an edge may say how long it waits: anybody else would have a stream spin.
func TestAttackStreamsDoNotSpinWhateverTheHeaders(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]http.Header{
		"from a caller":       {},
		"from a trusted edge": {access.HeaderInternal: {internalToken}},
	} {
		for _, value := range []string{"-9", "0", "1", "-9223372036854775808", "9223372036854775807", "99999999999999999999", "x", "1.5", " 9"} {
			t.Run(name+" "+value, func(t *testing.T) {
				t.Parallel()
				n := startNode(t, settings{prepare: func(a *api.API) { a.SetStreamTimes(time.Second/2, time.Second, soon) }})
				sent := header.Clone()
				if len(sent) == 0 {
					token := n.admitsOne("custom", access.V2All)
					sent.Set(access.HeaderToken, token)
				}
				sent.Set(api.HeaderTimeout, value)
				events, comments := n.stream("/v2/changes", sent), 0
				for { // until the stream ends
					line, err := events.lines.ReadString('\n')
					if err != nil {
						break
					}
					if strings.HasPrefix(line, ":") {
						comments++
					}
				}
				if comments > 2 {
					t.Errorf("got %d signs of life in half a second, want one a second", comments)
				}
			})
		}
	}
}

// What a stranger says of an edge changes nothing for it.
func TestAttackOnlyAnEdgeShortensAWait(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.admitsOne("custom", access.V2All)
	answered := make(chan answer, 1)
	go func() {
		answered <- n.askAs(http.MethodGet, "/v2/changes?wait=25", http.Header{access.HeaderToken: {token}, api.HeaderTimeout: {"1"}})
	}()
	n.waitHeld(1)
	n.API.Drain()
	env.Want(t, http.StatusOK, (<-answered).status, "a page without rows")
}

// Whatever a request turns out to be, it takes from the bucket of the address.
func TestAttackEveryRequestTakesFromTheBucketOfTheAddress(t *testing.T) {
	t.Parallel()
	n, from := refusedNode(t)
	address := 0
	for name, asked := range map[string]struct {
		method, path string
		header       http.Header
		status       int
	}{
		"home of programs":           {"GET", "/", nil, http.StatusNotFound},
		"reference":                  {"GET", "/docs", nil, http.StatusOK},
		"page of a route":            {"GET", "/docs/daos.list.md", nil, http.StatusOK},
		"description":                {"GET", "/openapi/agent-v2.json", nil, http.StatusOK},
		"alias":                      {"GET", "/openapi.json", nil, http.StatusOK},
		"guide":                      {"GET", "/llms.txt", nil, http.StatusOK},
		"guide, not modified":        {"GET", "/llms.txt", http.Header{"If-None-Match": {"*"}}, http.StatusNotModified},
		"headers of the guide":       {"HEAD", "/llms.txt", nil, http.StatusOK},
		"robots":                     {"GET", "/robots.txt", nil, http.StatusOK},
		"catalog":                    {"GET", "/.well-known/api-catalog", nil, http.StatusOK},
		"preflight":                  {"OPTIONS", "/v2/daos", nil, http.StatusNoContent},
		"preflight of a text":        {"OPTIONS", "/docs", nil, http.StatusNoContent},
		"free route":                 {"GET", "/v2/daos", nil, http.StatusOK},
		"free route, headers":        {"HEAD", "/v2/daos", nil, http.StatusOK},
		"encoded body":               {"POST", "/v2/daos", http.Header{"Content-Encoding": {"br"}}, http.StatusUnsupportedMediaType},
		"paid, without payment":      {"GET", detailPath, nil, http.StatusPaymentRequired},
		"paid, headers":              {"HEAD", detailPath, nil, http.StatusPaymentRequired},
		"long negotiation":           {"GET", "/v2/daos", http.Header{"Accept": {strings.Repeat("a/b,", 1000)}}, http.StatusRequestHeaderFieldsTooLarge},
		"wrong parameter":            {"GET", "/v2/daos?x=1", nil, http.StatusBadRequest},
		"wrong parameter, paid":      {"GET", detailPath + "?x=1", nil, http.StatusBadRequest},
		"unknown path":               {"GET", "/v2/brief", nil, http.StatusNotFound},
		"unknown id":                 {"GET", "/v2/daos/nobody", nil, http.StatusNotFound},
		"known method":               {"POST", "/v2/daos", nil, http.StatusMethodNotAllowed},
		"unknown method":             {"BREW", "/v2/daos", nil, http.StatusMethodNotAllowed},
		"invalid token":              {"GET", detailPath, http.Header{access.HeaderToken: {"pnyx_1"}}, http.StatusUnauthorized},
		"invalid internal token":     {"GET", detailPath, http.Header{access.HeaderInternal: {"x"}}, http.StatusUnauthorized},
		"missing token":              {"GET", "/v2/meta/usage", nil, http.StatusUnauthorized},
		"long address":               {"GET", "/v2/daos?x=" + strings.Repeat("x", 8<<10), nil, http.StatusRequestURITooLong},
		"edge without internal word": {"GET", api.PathAuthorize + detailPath, nil, http.StatusNotFound},
	} {
		address++
		own := fmt.Sprintf("192.0.2.%d", address)
		t.Run(name, func(t *testing.T) {
			for i, want := range []int{asked.status, asked.status, http.StatusTooManyRequests, http.StatusTooManyRequests} {
				got := from(own, asked.method, asked.path, asked.header)
				if got.status != want {
					t.Fatalf("request %d: got %d %.300s, want %d", i+1, got.status, got.body, want)
				}
				if got.status == http.StatusTooManyRequests && asked.method != http.MethodHead {
					if details := n.with(t).wantLimited(got, apierror.CodeRateLimited); details.Bucket != "free" || got.header.Get("Retry-After") == "" {
						t.Errorf("got %+v %v, want the free bucket and when to come back", details, got.header)
					}
				}
			}
		})
	}
	for range 5 { // internal callers are not limited
		for _, path := range []string{"/docs", "/llms.txt", "/v2/brief", "/v2/daos?x=1"} {
			if got := n.get(path); got.status == http.StatusTooManyRequests {
				t.Fatalf("%s: got %d, want an answer for an internal caller", path, got.status)
			}
		}
	}
}

// What cannot be read at all takes from the bucket, too.
func TestAttackMalformedRequestsTakeFromTheBucketOfTheAddress(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{
		"two lengths":    "POST /v2/daos HTTP/1.1\r\nHost: pnyx\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
		"a long body":    "POST /v2/daos HTTP/1.1\r\nHost: pnyx\r\nContent-Length: 99999\r\n\r\n",
		"long chunks":    "POST /v2/daos HTTP/1.1\r\nHost: pnyx\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n" + strings.Repeat("x", 0xffff),
		"long headers":   "GET /v2/daos HTTP/1.1\r\nHost: pnyx\r\nX-A: " + strings.Repeat("x", 40<<10) + "\r\n\r\n",
		"many headers":   "GET /v2/daos HTTP/1.1\r\nHost: pnyx\r\n" + strings.Repeat("A:\r\n", 9000) + "\r\n",
		"long trailers":  "POST /v2/daos HTTP/1.1\r\nHost: pnyx\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: " + strings.Repeat("x", 40<<10) + "\r\n\r\n",
		"a bad trailer":  "POST /v2/daos HTTP/1.1\r\nHost: pnyx\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Encoding: br\r\n\r\n",
		"no HTTP at all": "hello\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startNode(t, settings{freeRate: 3})
			var statuses []int
			for range 3 {
				status, _ := n.raw(request)
				statuses = append(statuses, status)
			}
			if statuses[0] < 400 || statuses[0] >= 500 || statuses[1] != http.StatusTooManyRequests || statuses[2] != http.StatusTooManyRequests {
				t.Errorf("got %v, want a refusal, and then 429", statuses)
			}
		})
	}
}

// A trailer comes after everything was decided, and nobody in front has looked at it.
func TestAttackTrailersAreRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, trailer := range map[string]string{
		"announced":     "Trailer: X-Service-Internal-Token\r\n\r\n0\r\n" + access.HeaderInternal + ": " + internalToken + "\r\n\r\n",
		"not announced": "\r\n0\r\nX-Edge-Timeout: 1\r\n\r\n",
		"only the name": "Trailer: X-Edge-Timeout\r\n\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			status, text := n.with(t).raw("GET /v2/daos HTTP/1.1\r\nHost: pnyx\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n" + trailer)
			env.Want(t, http.StatusBadRequest, status, text)
		})
	}
}

// answersTo sends bytes over one connection and returns the statuses of all answers, and
// whether the node closed the connection. What it keeps open is asked once more.
func (t *node) answersTo(bytes string) (statuses []int, closed bool) {
	t.Helper()
	reader := t.send(bytes)
	for {
		response, err := http.ReadResponse(reader, nil)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return statuses, true
		}
		if err != nil {
			t.Fatal(err)
		}
		env.Must(io.Copy(io.Discard, response.Body))(t)
		response.Body.Close()
		if statuses = append(statuses, response.StatusCode); len(statuses) == 2 {
			return statuses, false
		}
	}
}

func TestAttackRequestsOfTwoLengthsAreRefusedAndTheConnectionClosed(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const smuggled = "GET /llms.txt HTTP/1.1\r\nHost: pnyx\r\n\r\n"
	for name, lines := range map[string]string{
		"length and chunks":         "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"chunks and length":         "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
		"two lengths":               "Content-Length: 5\r\nContent-Length: 0\r\n\r\n",
		"one length twice":          "Content-Length: 0\r\ncontent-length: 0\r\n\r\n",
		"chunks twice":              "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"unknown encoding":          "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"identity":                  "Transfer-Encoding: identity\r\n\r\n",
		"lines without returns":     "Content-Length: 5\nTransfer-Encoding: chunked\n\r\n0\r\n\r\n",
		"folded line":               "X-A: b\r\n Content-Length: 5\r\n\r\n",
		"carriage return in a line": "X-A: b\rContent-Length: 5\r\n\r\n",
		"zero byte":                 "X-A: b\x00\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			statuses, closed := n.with(t).answersTo("POST /v2/daos HTTP/1.1\r\nHost: pnyx\r\n" + lines + smuggled)
			if len(statuses) != 1 || statuses[0] != http.StatusBadRequest || !closed {
				t.Errorf("got %v, closed %t, want 400 alone and the end of the connection", statuses, closed)
			}
		})
	}
	for name, target := range map[string]string{"space": "/v2/daos /x", "control character": "/v2/daos?\x01"} {
		t.Run(name, func(t *testing.T) {
			statuses, closed := n.with(t).answersTo("GET " + target + " HTTP/1.1\r\nHost: pnyx\r\n\r\n" + smuggled)
			if len(statuses) != 1 || statuses[0] != http.StatusBadRequest || !closed {
				t.Errorf("got %v, closed %t, want 400 alone and the end of the connection", statuses, closed)
			}
		})
	}
	for name, lines := range map[string]string{"length": "Content-Length: 1\r\n\r\nx", "chunks": "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"} {
		t.Run("one "+name, func(t *testing.T) {
			if statuses, _ := n.with(t).answersTo("GET /v2/daos HTTP/1.1\r\nHost: pnyx\r\n" + lines + smuggled); len(statuses) != 2 || statuses[1] != http.StatusOK {
				t.Errorf("got %v, want two answers", statuses)
			}
		})
	}
}

// FuzzRequest answers whatever arrives on a connection: never with a fault of the node, and
// with JSON or a document.
func FuzzRequest(f *testing.F) {
	for _, lines := range []string{
		"", "Accept-Encoding: gzip;q=0.5, br\r\n", "If-None-Match: W/\"a\", *\r\n", "Range: bytes=0-9\r\nIf-Range: a\r\n", "Accept: text/event-stream, */*;q=0.1\r\n",
		"X-Request-Id: a\r\nX-Forwarded-For: 192.0.2.1, ::1\r\nX-Forwarded-For: x\r\n", api.HeaderTimeout + ": -9\r\n" + api.HeaderTime + ": 1.5\r\n" + api.HeaderFill + ": x\r\n",
		access.HeaderToken + ": pnyx_a\r\nAuthorization: Bearer x\r\n", access.HeaderInternal + ": x\r\n", x402.HeaderPayment + ": e30=\r\n",
		"Content-Encoding: br\r\n", "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 3\r\n", "Transfer-Encoding: chunked\r\nTrailer: A\r\n",
		"X-A: b\r\n c\r\n", "Last-Event-ID: x\r\n", "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n", "Expect: 100-continue\r\nContent-Length: 1\r\n",
	} {
		for _, line := range []string{"GET " + hotPath, "POST /v2/daos", "GET /v2/changes?wait=1", "OPTIONS /", "BREW /x"} {
			f.Add(line+" HTTP/1.1\r\nHost: api.example.com\r\n"+lines+"\r\n", "0\r\n\r\nabc")
		}
	}
	handler := newHandler(f)
	f.Fuzz(func(t *testing.T, head, body string) {
		var c fasthttp.RequestCtx
		c.Init(&fasthttp.Request{}, nil, nil)
		if err := c.Request.ReadLimitBody(bufio.NewReader(strings.NewReader(head+body)), 4<<10); err != nil {
			return // the server answers what it cannot read
		}
		handler(&c)
		status := c.Response.StatusCode()
		if status == http.StatusInternalServerError {
			t.Fatalf("got %d %s for %q", status, c.Response.Body(), head)
		}
		if status >= http.StatusBadRequest && !json.Valid(c.Response.Body()) {
			t.Errorf("got %d %q for %q, want JSON", status, c.Response.Body(), head)
		}
	})
}
