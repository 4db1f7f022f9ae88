package mcp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pnyx/access"
	"pnyx/mcp"
	"pnyx/test/apinode"
	"pnyx/test/env"
)

// internalTransport sends requests as an internal caller.
type internalTransport struct{ http.RoundTripper }

// RoundTrip sends a request.
func (transport internalTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set(access.HeaderInternal, apinode.InternalToken)
	return transport.RoundTripper.RoundTrip(request) //nolint:wrapcheck // nothing to add
}

// connect begins a session of the official Go client, in a revision of the protocol.
func (t *node) connect(version string, transport http.RoundTripper) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: t.Base + mcp.Path, HTTPClient: &http.Client{Transport: transport, Timeout: soon},
	}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { session.Close() })
	env.Want(t, version, session.InitializeResult().ProtocolVersion, "the revision")
	return session
}

// callBySDK calls a tool, whose arguments are JSON. It returns the text of the result, and
// holds its structure against the schema that the tool declares.
func (t *node) callBySDK(session *sdk.ClientSession, tool *sdk.Tool, arguments string) (text string, failed bool) {
	t.Helper()
	got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.Name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("call %s %s: %v", tool.Name, arguments, err)
	}
	content, is := got.Content[0].(*sdk.TextContent)
	if !is {
		t.Fatalf("call %s %s: got the content %T, want a text", tool.Name, arguments, got.Content[0])
	}
	t.wantSchema(listedTool{Name: tool.Name, OutputSchema: t.encode(tool.OutputSchema)}, t.encode(got.StructuredContent))
	if !got.IsError {
		if diff := cmp.Diff(got.StructuredContent, decode[any](t, content.Text)); diff != "" {
			t.Errorf("call %s %s: (-structure +text):\n%.2000s", tool.Name, arguments, diff)
		}
	}
	return content.Text, got.IsError
}

// encode returns the JSON of a value.
func (t *node) encode(value any) json.RawMessage {
	t.Helper()
	return env.Must(json.Marshal(value))(t)
}

func TestOfficialGoClientCallsEveryTool(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			n := n.with(t)
			internal, stranger := n.connect(version, internalTransport{n.Client.Transport}), n.connect(version, n.Client.Transport)
			listed := 0
			for tool, err := range internal.Tools(t.Context(), nil) {
				if err != nil {
					t.Fatalf("list: %v", err)
				}
				listed++
				arguments := calls()[tool.Name]
				if arguments == "" {
					arguments = `{}`
				}
				if text, failed := n.callBySDK(internal, tool, arguments); failed {
					t.Errorf("%s %s: got the error %s", tool.Name, arguments, text)
				}
				if text, failed := n.callBySDK(internal, tool, `{"limt":3}`); !failed || !strings.HasPrefix(text, "VALIDATION_ERROR: ") || !strings.Contains(text, "limt") {
					t.Errorf("%s with an unknown argument: got %s, want an error that names it", tool.Name, text)
				}
				text, failed := n.callBySDK(stranger, tool, arguments)
				free := strings.Contains(tool.Description, "Tier: free.") && tool.Name != "get_dao" // with a timeline it is paid
				if failed == free || failed && !strings.HasPrefix(text, "PAYMENT_REQUIRED: ") {
					t.Errorf("%s without a token: got %s, free is %t", tool.Name, text, free)
				}
			}
			env.Want(t, len(calls()), listed, "tools")
			if _, err := internal.CallTool(t.Context(), &sdk.CallToolParams{Name: "rm"}); err == nil || !strings.Contains(err.Error(), "there is no tool") {
				t.Errorf("an unknown tool: got %v, want an error that says so", err)
			}
		})
	}
}
