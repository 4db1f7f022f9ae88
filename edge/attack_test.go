package edge_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/edge"
	"pnyx/mcp"
	"pnyx/test/env"
)

// dial opens a connection to the edge and sends bytes.
func (e *nginx) dial(text string) net.Conn {
	e.Helper()
	conn := env.Must(net.Dial("tcp", strings.TrimPrefix(e.base, "http://")))(e)
	e.Cleanup(func() { conn.Close() })
	env.Must(io.WriteString(conn, text))(e)
	return conn
}

// answerTo returns the answer to bytes.
func (e *nginx) answerTo(text string) answer {
	e.Helper()
	got, err := http.ReadResponse(bufio.NewReader(e.dial(text)), nil)
	env.MustDo(e, err)
	defer got.Body.Close()
	return answer{got.StatusCode, got.Header, string(env.Must(io.ReadAll(got.Body))(e))}
}

// The edge is trusted by nodes: what it passes on of a caller is a list, and what is kept for
// everyone is asked for without anything of a caller.
func TestAttackOnlyHeadersThatNodesReadPassTheEdge(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		if name, asks := strings.CutPrefix(r.RequestURI, api.PathAuthorize); asks && strings.HasSuffix(name, "/p1_kept") {
			w.Header().Set("X-Accel-Redirect", api.PathBody+"kept")
		}
	})
	e := startEdge(t, o.URL)
	shared := []string{"Accept-Encoding", "X-Forwarded-For", "X-Request-Id"}
	own := append([]string{
		access.HeaderToken, "Authorization", "Payment-Signature", "X-Payment", "Accept", "If-None-Match", "If-Range", "Range", "Last-Event-Id",
	}, shared...)
	tools := append([]string{"Content-Type", "Content-Length", "Origin", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"}, own...)
	const forged = "1"
	for _, c := range []struct {
		method, path string
		passes       []string
		edge         map[string]string // what the edge says itself
	}{
		{http.MethodGet, "/v2/daos", shared, map[string]string{api.HeaderTime: ""}},
		{http.MethodGet, "/v2/daos?x=1", shared, map[string]string{api.HeaderTime: ""}},
		{http.MethodGet, "/v2/meta/usage", own, nil},
		{http.MethodGet, "/v2/changes", own, map[string]string{api.HeaderTimeout: "", access.HeaderInternal: internalToken}},
		{http.MethodGet, "/v2/changes?wait=5", own, map[string]string{api.HeaderTimeout: "", access.HeaderInternal: internalToken}},
		{http.MethodGet, "/nowhere", own, nil},
		{http.MethodGet, "/explore", own, nil},
		{http.MethodPost, "/v2/daos", shared, map[string]string{api.HeaderTime: ""}},
		{http.MethodGet, "/v2/proposals/p1_x", own, map[string]string{api.HeaderTimeout: "", access.HeaderInternal: internalToken}},
		{http.MethodGet, "/v2/proposals/p1_x/votes?limit=3", own, map[string]string{api.HeaderTimeout: "", access.HeaderInternal: internalToken}},
		{http.MethodGet, api.PathAuthorize + "/v2/proposals", own, nil},
		{http.MethodGet, "/v2/proposals/p1_kept", []string{"Accept-Encoding", "X-Request-Id"}, map[string]string{access.HeaderInternal: internalToken, api.HeaderFill: "kept"}},
		{http.MethodPost, "/mcp", tools, map[string]string{api.HeaderTimeout: ""}},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			var headers []string
			for _, name := range slices.Concat(tools, []string{
				api.HeaderTimeout, api.HeaderTime, api.HeaderFill, access.HeaderInternal, "traceparent", "tracestate", "baggage", "Cookie",
				"Forwarded", "X-Real-Ip", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Original-Url", "X-Rewrite-Url", "X-Http-Method-Override",
				"Via", "Proxy", "X-Accel-Redirect", "X-Edge-Anything", "X-Anything", "If-Match", "If-Unmodified-Since",
			}) {
				// With a payment, no permission is asked for.
				if name != "Content-Length" && (name != "Payment-Signature" || c.edge[access.HeaderInternal] == "") {
					headers = append(headers, name, forged)
				}
			}
			env.Must(e.with(t).try(c.method, c.path, headers...))(t)
			last := o.last()
			asks := strings.HasPrefix(last.RequestURI, api.PathAuthorize+"/v2/")
			if _, fills := c.edge[api.HeaderFill]; c.edge[access.HeaderInternal] != "" && !fills && !asks {
				t.Errorf("the origin was asked for %s, want whether it may be answered", last.RequestURI)
			}
			for name := range c.edge {
				if last.Header.Get(name) == "" {
					t.Errorf("%s: the origin got nothing of the edge", name)
				}
			}
			for name, values := range last.Header {
				said, edge := c.edge[name]
				switch {
				case edge && (len(values) != 1 || values[0] == forged || said != "" && values[0] != said):
					t.Errorf("%s: the origin got %q, want what the edge says", name, values)
				case !edge && !slices.Contains(c.passes, name):
					t.Errorf("%s: the origin got %q, want nothing of the caller's", name, values)
				}
			}
		})
	}
}

func TestInternalTokenReachesNodesAsItIs(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		if name, asks := strings.CutPrefix(r.RequestURI, api.PathAuthorize); asks {
			w.Header().Set("X-Accel-Redirect", api.PathBody+strings.ReplaceAll(name[1:], "/", "_"))
		}
	})
	const token = `secret-of-$remote_addr-${host}-$$-"quoted"-\backslash\-{};#-$`
	e := startEdge(t, o.URL, func(o *edge.Options) { o.Token = token })
	e.get("/v2/proposals", access.HeaderToken, "x")
	if got := o.last().Header.Get(access.HeaderInternal); got != token || o.last().RequestURI != "/v2/proposals" {
		t.Errorf("the fill of a body: got %s with %q, want %q", o.last().RequestURI, got, token)
	}
	e.get("/v2/proposals/p1_x", "If-None-Match", "*")
	env.Want(t, token, o.last().Header.Get(access.HeaderInternal), "a request for permission")
}

func TestAddressesThatNginxWouldReadOtherwiseAreRefused(t *testing.T) {
	t.Parallel()
	valid := edge.Options{Listen: "127.0.0.1:8000", AdminListen: ":8001", Origin: "http://[::1]:8080", Dir: t.TempDir(), Modules: env.NginxModules}
	if err := edge.Write(io.Discard, valid); err != nil {
		t.Errorf("valid: got %v", err)
	}
	for name, change := range map[string]func(*edge.Options){
		"origin with a variable":  func(o *edge.Options) { o.Origin = "http://$host:80" },
		"origin with a semicolon": func(o *edge.Options) { o.Origin = "http://a;b:80" },
		"listen with a block":     func(o *edge.Options) { o.Listen = "a{}:80" },
		"admin with a space":      func(o *edge.Options) { o.AdminListen = "a b:80" },
		"token with a line end":   func(o *edge.Options) { o.Token = "a\nb" },
		"folder with a line end":  func(o *edge.Options) { o.Dir = "/tmp/a\nb" },
	} {
		t.Run(name, func(t *testing.T) {
			o := valid
			change(&o)
			if err := edge.Write(io.Discard, o); err == nil || !strings.Contains(err.Error(), "want") {
				t.Errorf("got %v, want what is allowed", err)
			}
		})
	}
}

func TestAttackHalfSentRequestHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "public, s-maxage=3600")
		fmt.Fprint(w, "data")
	})
	e := startEdge(t, o.URL)
	for name, half := range map[string]string{
		"length": "GET %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n",
		"part":   "GET %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx",
		"chunks": "GET %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"head":   "HEAD %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n",
		"post":   "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := "/v2/daos/quiet-" + name
			e.untilProcessing(0)
			conn := e.dial(fmt.Sprintf(half, path))
			e.untilProcessing(1)
			e.untilProcessing(1) // a moment later it has reached the cache
			var over atomic.Bool
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = bufio.NewReader(conn).ReadByte() // an answer, or the end of the connection
				over.Store(true)
			}()
			if got := e.get(path); got.status != http.StatusOK || over.Load() {
				t.Errorf("got %d, the half-sent request was given up before: %t, want 200 and false", got.status, over.Load())
			}
			conn.Close()
			<-ended
		})
	}
}

func TestAttackSlowReaderHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("x", 32<<20) // more than the buffers of both ends
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "public, s-maxage=3600")
		fmt.Fprint(w, body)
	})
	e := startEdge(t, o.URL)
	slow := e.dial("GET /v2/daos/long HTTP/1.1\r\nHost: x\r\n\r\n")
	env.Must(bufio.NewReader(slow).ReadByte())(t) // it is being answered
	if got := e.get("/v2/daos/long"); got.status != http.StatusOK || len(got.body) != len(body) {
		t.Errorf("got %d with %d bytes, want the answer", got.status, len(got.body))
	}
}

func TestAttackPreconditionsAreLeftToNodes(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.issue(1000, access.V2All)
	n.wantBody(n.read(p, pathOf(0)), "fwd=uri-miss")
	n.get("/v2/daos/a")
	used := int64(1)
	for name, headers := range map[string][]string{
		"If-Match":                        {"If-Match", `"x"`},
		"If-Unmodified-Since":             {"If-Unmodified-Since", "Mon, 02 Jan 2006 15:04:05 GMT"},
		"both":                            {"If-Match", `"x"`, "If-Unmodified-Since", "Mon, 02 Jan 2006 15:04:05 GMT"},
		"If-Range":                        {"If-Range", `"x"`, "Range", "bytes=0-1"},
		"If-Modified-Since":               {"If-Modified-Since", "Mon, 02 Jan 2040 15:04:05 GMT"},
		"If-Match and a changed response": {"If-Match", `"x"`, "If-None-Match", `"y"`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/v2/daos/a", "/v2/daos/a?x=1", "/docs", "/v2/meta/pricing"} {
				byEdge, byNode := n.get(path, headers...), n.direct.get(path, headers...)
				if byEdge.status != byNode.status || byEdge.status == http.StatusPreconditionFailed {
					t.Errorf("%s: got %d, without the edge %d, want the node's answer", path, byEdge.status, byNode.status)
				}
			}
			got := n.read(p, pathOf(0), headers...)
			if got.status != http.StatusOK || titleIn(got.body) == "" {
				t.Errorf("with a token: got %d %.100s, want the body", got.status, got.body)
			}
		})
		used++
	}
	n.wantUsed(map[partner]int64{p: used})
}

// The edge does not decode bodies, and nodes refuse encoded ones.
func TestAttackEncodedBodiesAreRefusedThroughTheEdge(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for _, asked := range []struct{ method, path string }{
		{http.MethodPost, mcp.Path}, {http.MethodGet, "/v2/daos"}, {http.MethodGet, pathOf(0)}, {http.MethodGet, "/nothing"},
	} {
		for _, encoding := range []string{"br", "gzip, gzip", "identity"} {
			got, err := n.try(asked.method, asked.path, "Content-Encoding", encoding, "Content-Type", "application/json")
			if err != nil || got.status != http.StatusUnsupportedMediaType || !strings.Contains(got.body, `"VALIDATION_ERROR"`) {
				t.Errorf("%s %s, %s: got %d %s, %v, want 415", asked.method, asked.path, encoding, got.status, got.body, err)
			}
		}
	}
	if got, err := n.try(http.MethodGet, "/v2/daos"); err != nil || got.status != http.StatusOK {
		t.Errorf("without: got %d %s, %v, want 200", got.status, got.body, err)
	}
}

// A page in a browser of the machine reaches the admin listener by a name that its owner
// resolves to this machine.
func TestAttackTheAdminListenerOfTheEdgeAnswersNoForeignName(t *testing.T) {
	t.Parallel()
	e := startEdge(t, "http://127.0.0.1:1")
	env.WantHosts(t, e.client, e.admin, "PNYX_EDGE_ADMIN_LISTEN", map[string]int{
		"": http.StatusOK, "localhost": http.StatusOK, "LOCALHOST:8001": http.StatusOK, "10.1.2.3:8001": http.StatusOK, "[fd00::7]:8001": http.StatusOK,
		"edge:8001": http.StatusOK, "a.localhost": http.StatusOK,
		"evil.example": http.StatusMisdirectedRequest, "evil.example:8001": http.StatusMisdirectedRequest, "127.0.0.1.evil.example": http.StatusMisdirectedRequest,
		"localhost.evil.example": http.StatusMisdirectedRequest,
	}, "/healthz", "/status", "/metrics")
}

// A node that dies, or that takes longer than the edge waits, may have handed the payment
// over for settlement.
func TestAttackAnUnansweredPaymentIsNeverSaidToBeFree(t *testing.T) {
	t.Parallel()
	ends := map[string]http.HandlerFunc{
		"the node dies": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"the node is slow": func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		},
	}
	for name, end := range ends {
		for _, token := range []string{internalToken, ""} {
			t.Run(name+map[bool]string{true: ", no token"}[token == ""], func(t *testing.T) {
				t.Parallel()
				o := newOrigin(t, end)
				e := startEdge(t, o.URL, func(o *edge.Options) {
					o.Token, o.PaymentTimeout, o.AnswerTimeout = token, 500*time.Millisecond, 500*time.Millisecond
				})
				got := e.get(pathOf(0), x402.HeaderPayment, "a payment")
				e.wantPending(got)
				if got := e.get(pathOf(0)); got.status != http.StatusServiceUnavailable || strings.Contains(got.body, "payment") {
					t.Errorf("without a payment: got %d %s, want 503", got.status, got.body)
				}
				env.Want(t, http.StatusServiceUnavailable, e.get("/v2/daos", x402.HeaderPayment, "a payment").status, "a free route")
			})
		}
	}
}

func TestAttackATimeoutThatIsTooShortTakesNoPayment(t *testing.T) {
	t.Parallel()
	n := newPaymentNode(t)
	options := newOptions(t, n.direct.base)
	options.PaymentTimeout = time.Minute // the node may take longer
	err := edge.Run(t.Context(), options, io.Discard, io.Discard)
	if !errors.Is(err, edge.ErrTimeouts) || !strings.Contains(err.Error(), "X402_SETTLE_TIMEOUT") {
		t.Errorf("start: got %v, want the settings that differ", err)
	}

	// Without a token the edge cannot ask, and starts.
	options.Token = ""
	short := startEdgeWith(t, options)
	payment := n.sign(pathOf(0))
	got := short.get(pathOf(0), x402.HeaderPayment, payment)
	if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, string(apierror.CodeUnavailable)) {
		t.Errorf("a payment: got %d %s, want 503", got.status, got.body)
	}
	env.Want(t, 0, n.ledger.Calls("verify")+n.ledger.Calls("settle"), "calls of the facilitator")
	n.wantSold(n.with(payment, pathOf(0)), 1)
}

func TestAttackTheTokenOfTheEdgeFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	other := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	moved := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	t.Cleanup(moved.Close)
	startEdge(t, moved.URL)
	env.Want(t, 0, other.asked.Load(), "requests at another host")
}

// wantPending checks that the caller is told to send the same payment again.
func (e *nginx) wantPending(got answer) {
	e.Helper()
	if got.status != http.StatusGatewayTimeout || !strings.Contains(got.body, string(apierror.CodeSettlementPending)) ||
		strings.Contains(got.body, "nothing was charged") || got.header.Get("Retry-After") == "" ||
		got.header.Get("Cache-Control") != "no-store" {
		e.Errorf("with a payment: got %d %v %s, want 504 %s", got.status, got.header, got.body, apierror.CodeSettlementPending)
	}
}
