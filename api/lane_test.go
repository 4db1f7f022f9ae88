package api_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/api"
)

// hotRequest is a request that the fast lane answers.
const hotRequest = "GET " + hotPath + " HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: a/1\r\nAccept: */*\r\n\r\n"

// scriptedConn is a connection on which a caller sends pieces of text, each once the one
// before was read, and closes it then.
type scriptedConn struct {
	pieces []string
	sent   bytes.Buffer
}

func (c *scriptedConn) Read(b []byte) (int, error) {
	if len(c.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, c.pieces[0])
	if c.pieces[0] = c.pieces[0][n:]; c.pieces[0] == "" {
		c.pieces = c.pieces[1:]
	}
	return n, nil
}

func (c *scriptedConn) Write(b []byte) (int, error)    { return c.sent.Write(b) }
func (*scriptedConn) Close() error                     { return nil }
func (*scriptedConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*scriptedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)} }
func (*scriptedConn) SetDeadline(time.Time) error      { return nil }
func (*scriptedConn) SetReadDeadline(time.Time) error  { return nil }
func (*scriptedConn) SetWriteDeadline(time.Time) error { return nil }

// answersTo returns what a node sends to a caller, without what differs between two runs.
func answersTo(node *api.API, lane bool, pieces ...string) string {
	conn := &scriptedConn{pieces: slices.Clone(pieces)}
	_ = node.ServeConn(conn, lane) // how it ends is in what was sent
	return varying.ReplaceAllString(conn.sent.String(), "…")
}

// with adds lines to the header of hotRequest.
func with(lines ...string) string {
	return strings.TrimSuffix(hotRequest, "\r\n") + strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// conversations are what callers send after a first plain request, in pieces, and how many
// of the requests are for the fast lane.
func conversations() map[string]struct {
	pieces []string
	lane   float64
} {
	const list = "GET /v2/daos/nobody HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
	post := fmt.Sprintf("POST /v2/daos HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: %d\r\n\r\n", len(hotRequest))
	type conversation = struct {
		pieces []string
		lane   float64
	}
	all := map[string]conversation{
		"requests one after another":          {[]string{hotRequest, hotRequest, hotRequest}, 3},
		"other headers in between":            {[]string{hotRequest, with("Origin: https://a.example"), hotRequest}, 3},
		"an unknown DAO in between":           {[]string{hotRequest, list, hotRequest}, 2},
		"two requests in one piece":           {[]string{hotRequest, hotRequest + hotRequest, hotRequest}, 1},
		"a request in two pieces":             {[]string{hotRequest[:30], hotRequest[30:], hotRequest}, 0},
		"a request and a half":                {[]string{hotRequest + hotRequest[:30], hotRequest[30:], hotRequest}, 0},
		"the body of a POST is a request":     {[]string{hotRequest, post, hotRequest, hotRequest}, 1},
		"a POST with its body in one piece":   {[]string{hotRequest, post + hotRequest, hotRequest}, 1},
		"the body of a GET is a request":      {[]string{with(fmt.Sprintf("Content-Length: %d", len(hotRequest))), hotRequest, hotRequest}, 0},
		"a chunked body":                      {[]string{with("Transfer-Encoding: chunked"), "0\r\n\r\n", hotRequest}, 0},
		"a length with a space":               {[]string{with(fmt.Sprintf("Content-Length : %d", len(hotRequest))), hotRequest, hotRequest}, 0},
		"a length on a folded line":           {[]string{with("X-A: b", " Content-Length: 3"), "abc", hotRequest}, 0},
		"a length in a folded value":          {[]string{with("Content-Length:", fmt.Sprintf(" %d", len(hotRequest))), hotRequest, hotRequest}, 0},
		"a caller that waits to send a body":  {[]string{with("Expect: 100-continue", "Content-Length: 3"), "abc", hotRequest}, 0},
		"lines that end with a line feed":     {[]string{strings.ReplaceAll(hotRequest, "\r\n", "\n"), hotRequest}, 0},
		"one line that ends with a line feed": {[]string{strings.Replace(hotRequest, "\r\nUser", "\nUser", 1), hotRequest}, 0},
		"an empty line with a line feed":      {[]string{strings.Replace(hotRequest, "\r\nUser", "\n\nUser", 1), hotRequest}, 0},
		"a carriage return in a value":        {[]string{with("X-A: b\rContent-Length: 3"), "abc", hotRequest}, 0},
		"a zero byte in a value":              {[]string{with("X-A: b\x00"), hotRequest}, 0},
		"an empty line first":                 {[]string{"\r\n" + hotRequest, hotRequest}, 0},
		"no host":                             {[]string{strings.Replace(hotRequest, "Host: api.example.com\r\n", "", 1), hotRequest}, 1},
		"two hosts":                           {[]string{with("Host: b.example.com"), hotRequest}, 1},
		"a host that is an address":           {[]string{strings.Replace(hotRequest, "api.example.com", "[::1]:80", 1), hotRequest}, 1},
		"a version that is not known":         {[]string{strings.Replace(hotRequest, "HTTP/1.1", "HTTP/1.0", 1), hotRequest}, 0},
		"a target with a host":                {[]string{strings.Replace(hotRequest, " /", " http://api.example.com/", 1), hotRequest}, 0},
		"a target that is not canonical":      {[]string{strings.Replace(hotRequest, "uniswap", "%75niswap", 1), hotRequest}, 1},
		"a target with a space":               {[]string{strings.Replace(hotRequest, "uniswap", "uni swap", 1), hotRequest}, 0},
		"HEAD":                                {[]string{strings.Replace(hotRequest, "GET", "HEAD", 1), hotRequest}, 0},
		"a caller that leaves":                {[]string{hotRequest, with("Connection: close"), hotRequest}, 1},
		"a caller that stays":                 {[]string{with("Connection: keep-alive"), with("connection: Keep-Alive")}, 2},
	}
	for _, line := range []string{
		"Accept-Encoding: gzip", "If-None-Match: *", "If-Modified-Since: Thu, 01 Jan 2099 00:00:00 GMT", "Range: bytes=0-9",
		"X-Request-Id: mine", "X-Forwarded-For: 192.0.2.9", "X-Edge-Time: 1.5", "X-Edge-Fill: a", "X-Edge-Timeout: 1",
		"X-Service-Api-Token: pnyx_a", "X-Service-Internal-Token: " + internalToken, "X-Service-Internal-Token: no",
		"Payment-Signature: e30=", "Cookie: a=b", "Authorization: Bearer a", "Last-Event-Id: 7", "Te: trailers", "Via: 1.1 a",
		"Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "X-Http-Method-Override: DELETE",
	} {
		lane := 1.0
		if line == "Accept-Encoding: gzip" { // too short to be compressed
			lane = 2
		}
		all[line] = conversation{[]string{with(line), hotRequest}, lane}
	}
	return all
}

// TestTheFastLaneAnswersAsTheRouterDoes holds conversations with and without the lane: every
// byte is the same, but for times and ids.
func TestTheFastLaneAnswersAsTheRouterDoes(t *testing.T) {
	t.Parallel()
	for name, c := range conversations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := watchedNode(t, prometheus.NewRegistry(), 1_000_000)
			node.KeepCopies()
			node.SetClock(func() time.Time { return noon })
			answersTo(node, false, hotRequest) // from then on the node has a copy
			pieces := append([]string{hotRequest}, c.pieces...)
			want := answersTo(node, false, pieces...)
			before := node.LaneAnswers()
			if diff := cmp.Diff(want, answersTo(node, true, pieces...)); diff != "" {
				t.Errorf("answers (-without the lane +with it):\n%s", diff)
			}
			if got := node.LaneAnswers() - before; got != c.lane {
				t.Errorf("the lane answered %v requests, want %v", got, c.lane)
			}
		})
	}
}

// FuzzTheFastLane holds any conversation with and without the lane. Each byte of cuts is the
// length of a piece.
func FuzzTheFastLane(f *testing.F) {
	node := watchedNode(f, prometheus.NewRegistry(), 1_000_000)
	node.KeepCopies()
	node.SetClock(func() time.Time { return noon })
	answersTo(node, false, hotRequest)
	for _, c := range conversations() {
		var cuts []byte
		for _, piece := range c.pieces {
			cuts = append(cuts, byte(min(len(piece), 255)))
		}
		f.Add(strings.Join(c.pieces, ""), cuts)
	}
	f.Fuzz(func(t *testing.T, text string, cuts []byte) {
		pieces := []string{hotRequest}
		for _, cut := range cuts {
			if length := min(int(cut), len(text)); length > 0 {
				pieces = append(pieces, text[:length])
				text = text[length:]
			}
		}
		if text != "" {
			pieces = append(pieces, text)
		}
		if diff := cmp.Diff(answersTo(node, false, pieces...), answersTo(node, true, pieces...)); diff != "" {
			t.Errorf("answers to %q (-without the lane +with it):\n%s", pieces, diff)
		}
	})
}

// TestTheFastLaneTakesFromTheBucket empties the bucket of an address through the lane: what
// is refused is counted once.
func TestTheFastLaneTakesFromTheBucket(t *testing.T) {
	t.Parallel()
	const burst, requests = 10, 25
	registry := prometheus.NewRegistry()
	lane := watchedNode(t, registry, 3*burst)
	lane.KeepCopies()
	lane.SetClock(func() time.Time { return noon })
	pieces := slices.Repeat([]string{hotRequest}, requests)
	got := answersTo(lane, true, pieces...)
	if answered := strings.Count(got, "HTTP/1.1 200 OK"); answered != burst {
		t.Errorf("%d of %d requests were answered, want %d", answered, requests, burst)
	}
	if refused := strings.Count(got, "HTTP/1.1 429 "); refused != requests-burst {
		t.Errorf("%d of %d requests were refused, want %d", refused, requests, requests-burst)
	}
	asked := node{T: t, registry: registry}
	for labels, want := range map[string]float64{
		"code= route=daos.detail status=200": burst, "code=RATE_LIMITED route=daos.detail status=429": requests - burst,
	} {
		if counted := asked.counts("pnyx_http_requests_total")[labels]; counted != want {
			t.Errorf("%s: counted %v, want %v", labels, counted, want)
		}
	}
}

// heldConn is a connection on which a Write waits until it is released.
type heldConn struct {
	scriptedConn

	writing, release chan struct{}
	closed           atomic.Bool
	cut              bool
}

func (c *heldConn) Write(b []byte) (int, error) {
	c.writing <- struct{}{}
	<-c.release
	c.cut = c.cut || c.closed.Load()
	return c.scriptedConn.Write(b)
}

func (c *heldConn) Close() error {
	c.closed.Store(true)
	return nil
}

// TestClosingDoesNotCutAnAnswerOfTheFastLane closes a connection, as a server does that shuts
// down, while the lane writes.
func TestClosingDoesNotCutAnAnswerOfTheFastLane(t *testing.T) {
	t.Parallel()
	node := watchedNode(t, prometheus.NewRegistry(), 1_000_000)
	node.KeepCopies()
	answersTo(node, false, hotRequest)
	conn := &heldConn{
		scriptedConn: scriptedConn{pieces: []string{hotRequest, hotRequest, hotRequest}},
		writing:      make(chan struct{}), release: make(chan struct{}),
	}
	lane := node.LaneConn(conn)
	read := make([]byte, 1024)
	if n, err := lane.Read(read); string(read[:n]) != hotRequest || err != nil {
		t.Fatalf("the first request: got %q (%v), want it left to the server", read[:n], err)
	}
	ended := make(chan error)
	go func() {
		_, err := lane.Read(read)
		ended <- err
	}()
	<-conn.writing
	if err := lane.Close(); err != nil {
		t.Fatal(err)
	}
	close(conn.release)
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection ended with %v, want %v", err, net.ErrClosed)
	}
	if conn.cut || !conn.closed.Load() || !strings.HasSuffix(conn.sent.String(), "}\n") {
		t.Errorf("cut: %v, closed: %v, sent: %q, want a whole answer before the end", conn.cut, conn.closed.Load(), conn.sent.String())
	}
}

// TestTheFastLaneEndsWhenANodeDrains lets callers reconnect to another node.
func TestTheFastLaneEndsWhenANodeDrains(t *testing.T) {
	t.Parallel()
	node := watchedNode(t, prometheus.NewRegistry(), 1_000_000)
	node.KeepCopies()
	answersTo(node, false, hotRequest)
	node.Drain()
	got := answersTo(node, true, hotRequest, hotRequest)
	if closed := strings.Count(got, "Connection: close"); closed != 1 || node.LaneAnswers() != 0 {
		t.Errorf("got %q, want one answer that closes the connection", got)
	}
}

// repeatedConn is a connection on which a caller sends one request again and again.
type repeatedConn struct {
	scriptedConn

	left int
}

func (c *repeatedConn) Read(b []byte) (int, error) {
	if c.left--; c.left < 0 {
		return 0, io.EOF
	}
	return copy(b, hotRequest), nil
}

func (*repeatedConn) Write(b []byte) (int, error) { return len(b), nil }

// TestTheFastLaneAllocatesNothing sends many requests on one connection.
func TestTheFastLaneAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	node := watchedNode(t, prometheus.NewRegistry(), 1_000_000_000)
	node.KeepCopies()
	answersTo(node, false, hotRequest)
	repeated := &repeatedConn{left: 1}
	conn, room := node.LaneConn(repeated), make([]byte, 4096)
	if _, err := conn.Read(room); err != nil { // the first request is the server's
		t.Fatal(err)
	}
	before, best := node.LaneAnswers(), math.Inf(1)
	for range 20 {
		best = min(best, testing.AllocsPerRun(1, func() {
			repeated.left = 1000
			_, _ = conn.Read(room) // the connection ends when all are answered
		}))
	}
	if best > 0 || node.LaneAnswers() == before {
		t.Errorf("got %v allocations for 1,000 answers, want none", best)
	}
}

// BenchmarkFastLane answers a free route from the node's own copy, with everything but
// system calls.
func BenchmarkFastLane(b *testing.B) {
	node := watchedNode(b, prometheus.NewRegistry(), 1_000_000_000)
	node.KeepCopies()
	answersTo(node, false, hotRequest)
	b.ReportAllocs()
	if err := node.ServeConn(&repeatedConn{left: b.N}, true); err != nil {
		b.Error(err)
	}
}
