package api_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api"
)

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
