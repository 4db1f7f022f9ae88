package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/apierror"
)

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
	var bomb bytes.Buffer
	zipper := gzip.NewWriter(&bomb)
	if _, err := zipper.Write(make([]byte, 3<<20)); err != nil {
		t.Fatal(err)
	}
	if err := zipper.Close(); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"GET", "POST"} {
		status, answer := n.raw(fmt.Sprintf("%s /v2/daos?x=1 HTTP/1.1\r\nHost: pnyx\r\nContent-Encoding: gzip\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			method, bomb.Len(), bomb.String()))
		if status < 400 || status >= 500 {
			t.Errorf("%s of a gzip bomb: got %d %s, want a refusal", method, status, answer)
		}
	}
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
	if calls := n.ledger.Calls("verify"); calls != 0 {
		t.Errorf("got %d calls of the facilitator, want none", calls)
	}
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
