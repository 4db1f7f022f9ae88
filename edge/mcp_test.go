package edge_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"pnyx/access"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/mcp"
	"pnyx/test/env"
)

// call posts a body to /mcp; headers alternate names and values.
func (e *nginx) call(body io.Reader, headers ...string) answer {
	e.Helper()
	return e.post(mcp.Path, body, headers...)
}

func (e *nginx) post(path string, body io.Reader, headers ...string) answer {
	e.Helper()
	return env.Must(e.send(http.MethodPost, path, body, append(headers, "Content-Type", "application/json")...))(e)
}

// unsized is a body whose length the caller does not say.
func unsized(text string) io.Reader { return io.MultiReader(strings.NewReader(text)) }

func TestMCPCallsPassTheEdgeAndAreNeverStored(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Cache-Control", "public, max-age=3600, s-maxage=3600") // a node says no-store
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(string(body), "notifications/") {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		fmt.Fprintf(w, "%s %s", r.Method, body)
	})
	e := startEdge(t, o.URL)
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_dao"}}`
	headers := map[string]string{
		"Mcp-Method": "tools/call", "Mcp-Name": "get_dao", "Mcp-Protocol-Version": "2026-07-28", "Origin": "https://agent.example",
		"Authorization": "Bearer x", access.HeaderToken: "the-token", "Accept": "application/json, text/event-stream",
	}
	var sent []string
	for name, value := range headers {
		sent = append(sent, name, value)
	}
	sent = append(sent, access.HeaderInternal, internalToken, api.HeaderFill, "x", api.HeaderTime, "1", api.HeaderTimeout, "1", "traceparent", "1")
	for range 2 {
		got := e.call(strings.NewReader(body), sent...)
		if got.status != http.StatusOK || got.body != "POST "+body || got.header.Get("Cache-Status") != "pnyx-edge; fwd=bypass" {
			t.Errorf("got %d %v %s, want the answer of the node to the same body", got.status, got.header, got.body)
		}
	}
	env.Want(t, 2, o.askedFor("/mcp"), "calls at the node")
	asked := o.last()
	for name, want := range headers {
		env.Want(t, want, asked.Header.Get(name), "the node")
	}
	if got, want := asked.Host, strings.TrimPrefix(e.base, "http://"); got != want {
		t.Errorf("Host: the node got %q, want the caller's %q", got, want)
	}
	for name, want := range map[string]string{
		access.HeaderInternal: "", api.HeaderFill: "", api.HeaderTime: "", "traceparent": "",
		api.HeaderTimeout: "3600000", "X-Forwarded-For": "127.0.0.1",
	} {
		env.Want(t, want, strings.Join(asked.Header.Values(name), ","), "the node")
	}
	env.Want(t, "POST "+body, e.post(mcp.Path+"/", strings.NewReader(body)).body, "the answer to a call with a slash at the end")
	if got := e.call(strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); got.status != http.StatusAccepted || got.body != "" {
		t.Errorf("a notification: got %d %q, want 202 without a body", got.status, got.body)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodOptions} {
		if got, err := e.try(method, "/mcp"); err != nil || got.body != method+" " {
			t.Errorf("%s: got %d %s %v, want the answer of the node", method, got.status, got.body, err)
		}
	}
	e.wantMetrics(map[string]float64{
		"pnyx_edge_requests_total cache=none route=mcp status=200": 6,
		"pnyx_edge_requests_total cache=none route=mcp status=202": 1,
	})
}

func TestMCPBodiesAreBounded(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		size, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, size)
	})
	e := startEdge(t, o.URL)
	fits, tooLong := strings.Repeat("x", mcp.MaxBodyBytes), strings.Repeat("x", mcp.MaxBodyBytes+1)
	for name, test := range map[string]struct {
		body io.Reader
		want int
	}{
		"64 KiB":                           {strings.NewReader(fits), http.StatusOK},
		"64 KiB of unknown length":         {unsized(fits), http.StatusOK},
		"nothing":                          {strings.NewReader(""), http.StatusOK},
		"a byte too many":                  {strings.NewReader(tooLong), http.StatusRequestEntityTooLarge},
		"a byte too many, unknown length":  {unsized(tooLong), http.StatusRequestEntityTooLarge},
		"a payment, a byte too many again": {strings.NewReader(tooLong[:mcp.MaxBodyBytes-11] + "x402/payment"), http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := e.with(t).call(test.body)
			if got.status != test.want {
				t.Fatalf("got %d %s, want %d", got.status, got.body, test.want)
			}
			if test.want != http.StatusOK && !strings.Contains(got.body, `{"error":{"code":"`) {
				t.Errorf("got %s, want the envelope of the API", got.body)
			}
		})
	}
}

// TestMCPCallIsRepeatedOnAConnectionThatTheNodeClosed checks that a node which ends
// connections that are kept, as one that restarts does, fails no call.
func TestMCPCallIsRepeatedOnAConnectionThatTheNodeClosed(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if calls.Add(1) == 2 {
			panic(http.ErrAbortHandler) // closes the connection of the call before
		}
		fmt.Fprintf(w, "%s", body)
	})
	e := startEdge(t, o.URL)
	for i := range 2 {
		if got := e.call(strings.NewReader("the body")); got.status != http.StatusOK || got.body != "the body" {
			t.Errorf("call %d: got %d %s, want the answer", i, got.status, got.body)
		}
	}
	env.Want(t, 3, calls.Load(), "calls at the node", "the second one twice")
}

// TestMCPCallWithoutANodeSaysWhatBecameOfAPayment stops the node: without an answer, a
// caller must not be asked for another payment.
func TestMCPCallWithoutANodeSaysWhatBecameOfAPayment(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	e := startEdge(t, o.URL)
	o.Close()
	for name, test := range map[string]struct {
		body string
		code apierror.Code
		want int
	}{
		"a call":                    {`{"method":"tools/call"}`, apierror.CodeUnavailable, http.StatusServiceUnavailable},
		"a paid call":               {`{"params":{"_meta":{"x402/payment":{}}}}`, apierror.CodeSettlementPending, http.StatusGatewayTimeout},
		"one with an escaped slash": {`{"params":{"_meta":{"x402\/payment":{}}}}`, apierror.CodeSettlementPending, http.StatusGatewayTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := e.with(t).call(strings.NewReader(test.body), "X-Request-Id", "mine")
			if got.status != test.want || !strings.Contains(got.body, string(test.code)) ||
				!strings.Contains(got.body, `"requestId":"mine"`) || got.header.Get("Cache-Control") != "no-store" {
				t.Errorf("got %d %v %s, want %d for the request", got.status, got.header, got.body, test.want)
			}
		})
	}
}

// TestMCPClientsAreNotSentToOAuth: a client that finds any of these begins a sign-in that
// nobody answers.
func TestMCPClientsAreNotSentToOAuth(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for _, path := range []string{
		"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
		"/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp", "/.well-known/openid-configuration",
	} {
		got := n.get(path)
		if got.status != http.StatusNotFound || got.header.Get("WWW-Authenticate") != "" || got.header.Get("Location") != "" {
			t.Errorf("%s: got %d %v, want 404", path, got.status, got.header)
		}
	}
}
