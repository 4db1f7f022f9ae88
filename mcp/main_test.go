package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"pnyx/access"
	"pnyx/api/apierror"
	"pnyx/mcp"
	"pnyx/reference"
	"pnyx/test/apinode"
)

// soon is how long anything in these tests may take. Nothing waits for it when all is well.
const soon = apinode.Soon

func TestMain(m *testing.M) { apinode.Main(m) }

// node is a test of a node that serves the tools.
type node struct {
	*apinode.Node

	tools *mcp.Server
}

// with returns the node for a subtest, whose failures are its own.
func (t *node) with(test *testing.T) *node { //nolint:thelper // the receiver is t
	test.Helper()
	return &node{t.With(test), t.tools}
}

func newNode(t *testing.T) *node {
	t.Helper()
	return startNode(t, apinode.Settings{})
}

// startNode starts a node with the sample of the tools.
func startNode(t testing.TB, s apinode.Settings) *node { //nolint:thelper // as the receiver of node
	t.Helper()
	var n node
	s.Sample = apinode.Sample{Views: sampleViews(), DAOs: sampleDAOs, Kinds: sampleKinds(), Page: samplePage}
	prices := apinode.Prices()
	prices.PayPerRequest = s.Payments != nil
	s.Documents = reference.Documents(reference.Node{Prices: prices})
	s.Mount = func(mounted *apinode.Node) error {
		n.tools = mcp.New(mcp.Options{
			Node: mounted.API, PublicURL: "https://api.example.org", Origins: []string{"https://app.example.org"},
			Documents: s.Documents, Metrics: mounted.Registry, Payments: prices.PayPerRequest,
		})
		return nil
	}
	n.Node = apinode.Start(t, s)
	return &n
}

// headers are the header of every POST; with further pairs of name and value.
func headers(pairs ...string) http.Header {
	header := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			header.Del(pairs[i])
		} else {
			header.Set(pairs[i], pairs[i+1])
		}
	}
	return header
}

// post sends a message as a client with a handshake does.
func (t *node) post(body string, pairs ...string) apinode.Response {
	t.Helper()
	return t.Send(http.MethodPost, mcp.Path, body, headers(pairs...))
}

// rpc is a response of the protocol.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// toolResult is the result of a call.
type toolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	StructuredContent json.RawMessage            `json:"structuredContent"`
	IsError           bool                       `json:"isError"`
	Meta              map[string]json.RawMessage `json:"_meta"`
}

// envelope is structuredContent of a success or of an error.
type envelope struct {
	Data json.RawMessage `json:"data"`
	Meta struct {
		RequestID string `json:"requestId"`
		Page      *struct {
			Limit      int     `json:"limit"`
			HasMore    bool    `json:"hasMore"`
			NextCursor *string `json:"nextCursor"`
		} `json:"page"`
	} `json:"meta"`
	Error struct {
		Code    apierror.Code   `json:"code"`
		Message string          `json:"message"`
		Details json.RawMessage `json:"details"`
	} `json:"error"`
}

// decode reads JSON.
func decode[Value any](tb testing.TB, text string) Value {
	tb.Helper()
	var value Value
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		tb.Fatalf("decode %s: %v", text, err)
	}
	return value
}

// asInternal is the header of callers that are neither limited nor asked for payment.
func asInternal() []string { return []string{access.HeaderInternal, apinode.InternalToken} }

// callAs calls a tool.
func (t *node) callAs(tool, arguments string, header ...string) toolResult {
	t.Helper()
	got := t.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments), header...)
	if got.Status != http.StatusOK {
		t.Fatalf("call %s %s: got %d %s, want 200", tool, arguments, got.Status, got.Body)
	}
	response := decode[rpc](t, got.Body)
	if response.Error != nil {
		t.Fatalf("call %s %s: got the protocol error %+v", tool, arguments, response.Error)
	}
	return decode[toolResult](t, string(response.Result))
}

// wantData calls a tool as an internal caller, which must succeed.
func (t *node) wantData(tool, arguments string) envelope {
	t.Helper()
	got := t.callAs(tool, arguments, asInternal()...)
	if got.IsError {
		t.Fatalf("call %s %s: got the error %s", tool, arguments, got.Content[0].Text)
	}
	if got.Content[0].Text != string(got.StructuredContent) {
		t.Errorf("call %s %s: text and structure differ", tool, arguments)
	}
	return decode[envelope](t, string(got.StructuredContent))
}

// httpData reads a route over HTTP as an internal caller.
func (t *node) httpData(path string) envelope {
	t.Helper()
	got := t.Send(http.MethodGet, path, "", http.Header{access.HeaderInternal: {apinode.InternalToken}})
	if got.Status != http.StatusOK {
		t.Fatalf("GET %s: got %d %s, want 200", path, got.Status, got.Body)
	}
	return decode[envelope](t, got.Body)
}
