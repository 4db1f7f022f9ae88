package mcp_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"pnyx/mcp"
	"pnyx/test/apinode"
	"pnyx/test/env"
)

// FuzzMessage sends any body, by an internal caller: the answer is never a fault of the node,
// it is JSON, and what is accepted means the same to a parser that takes names as they are.
func FuzzMessage(f *testing.F) {
	const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	const whole = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_dao","arguments":{"daoId":"dao-000"}` + meta + `}}`
	for _, body := range []string{
		whole,
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"find_daos","arguments":{"limit":3}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_proposal","arguments":{"proposalKey":"` + string(unknownKey) + `","include":["votes"]}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"explain_vote","arguments":{"url":"x"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_daos","_meta":{"x402/payment":{"a":1}}}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"id":1,"ID":2}`, `{"\u0069d":1,"id":2}`, `[[[[`, ``, "\x00",
	} {
		f.Add(body, "", "", "")
		f.Add(body, "2026-07-28", "tools/call", "get_dao")
	}
	for _, body := range env.Lacking(f, whole) {
		f.Add(body, "", "", "")
	}
	n := startNode(f, apinode.Settings{Unlogged: true})
	f.Fuzz(func(t *testing.T, body, version, method, name string) {
		header := headers(asInternal()...)
		for key, value := range map[string]string{mcp.HeaderVersion: version, mcp.HeaderMethod: method, mcp.HeaderName: name} {
			if value != "" {
				header.Set(key, mcp.EncodeHeader(value))
			}
		}
		got := n.with(t).Send(http.MethodPost, mcp.Path, body, header)
		switch {
		case got.Status >= http.StatusInternalServerError:
			t.Fatalf("got %d %s for %q", got.Status, got.Body, body)
		case got.Body == "" && got.Status == http.StatusAccepted:
			return
		case !json.Valid([]byte(got.Body)):
			t.Fatalf("got %d %q for %q, want JSON", got.Status, got.Body, body)
		}
		answered := decode[rpc](t, got.Body)
		if got.Status != http.StatusOK || answered.Error != nil {
			return
		}
		asked := decode[map[string]json.RawMessage](t, body)
		if string(asked["id"]) != string(answered.ID) || len(asked["method"]) == 0 {
			t.Errorf("got an answer to %s for %q", answered.ID, body)
		}
	})
}
