package mcp_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"pnyx/mcp"
	"pnyx/test/apinode"
	"pnyx/test/env"
)

// modernMeta is what every request of the revision without a handshake says of itself.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// postModern sends a request of the revision without a handshake.
func (t *node) postModern(method, params string, pairs ...string) apinode.Response {
	t.Helper()
	if params != "" {
		params += ","
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"a","method":%q,"params":{%s%s}}`, method, params, modernMeta)
	return t.post(body, append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}, pairs...)...)
}

func TestRequestsThatAreNoMessagesAreRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for name, c := range map[string]struct {
		method, body string
		header       []string
		status, code int
	}{
		"a stream":               {http.MethodGet, "", nil, http.StatusMethodNotAllowed, 0},
		"the end of a session":   {http.MethodDelete, "", nil, http.StatusMethodNotAllowed, 0},
		"another method":         {http.MethodPut, ping, nil, http.StatusMethodNotAllowed, 0},
		"a batch":                {http.MethodPost, "[" + ping + "]", nil, http.StatusBadRequest, -32600},
		"an id that is null":     {http.MethodPost, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, http.StatusBadRequest, -32600},
		"an id that is a list":   {http.MethodPost, `{"jsonrpc":"2.0","id":[],"method":"ping"}`, nil, http.StatusBadRequest, -32600},
		"another JSON-RPC":       {http.MethodPost, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, nil, http.StatusBadRequest, -32600},
		"a method that is none":  {http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":7}`, nil, http.StatusBadRequest, -32600},
		"parameters in a list":   {http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, nil, http.StatusBadRequest, -32600},
		"no JSON":                {http.MethodPost, "{", nil, http.StatusBadRequest, -32700},
		"no method":              {http.MethodPost, `{"jsonrpc":"2.0","id":1}`, nil, http.StatusBadRequest, -32600},
		"no UTF-8":               {http.MethodPost, `{"jsonrpc":"2.0","id":"` + "\xff" + `","method":"ping"}`, nil, http.StatusBadRequest, -32700},
		"no body":                {http.MethodPost, "", nil, http.StatusBadRequest, -32700},
		"deep JSON":              {http.MethodPost, strings.Repeat("[", 20_000), nil, http.StatusBadRequest, -32700},
		"a form":                 {http.MethodPost, ping, []string{"Content-Type", "application/x-www-form-urlencoded"}, http.StatusUnsupportedMediaType, 0},
		"no media type":          {http.MethodPost, ping, []string{"Content-Type", ""}, http.StatusUnsupportedMediaType, 0},
		"a foreign origin":       {http.MethodPost, ping, []string{"Origin", "https://evil.example"}, http.StatusForbidden, 0},
		"an origin without name": {http.MethodPost, ping, []string{"Origin", "null"}, http.StatusForbidden, 0},
		"a similar origin":       {http.MethodPost, ping, []string{"Origin", "https://app.example.org.evil.example"}, http.StatusForbidden, 0},
		"a foreign preflight":    {http.MethodOptions, "", []string{"Origin", "https://evil.example"}, http.StatusForbidden, 0},
		"a foreign host":         {http.MethodPost, ping, []string{"Host", "evil.example"}, http.StatusForbidden, 0},
		"an unknown revision":    {http.MethodPost, ping, []string{"MCP-Protocol-Version", "1900-01-01"}, http.StatusBadRequest, -32022},
		"a version in the body alone": {
			http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`, nil, http.StatusBadRequest, -32020,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := n.with(t).Send(c.method, mcp.Path, c.body, headers(c.header...))
			if got.Status != c.status {
				t.Fatalf("got %d %s, want %d", got.Status, got.Body, c.status)
			}
			if allow := got.Header.Get("Allow"); (got.Status == http.StatusMethodNotAllowed) != (allow == "POST") {
				t.Errorf("allow: got %q", allow)
			}
			if c.code != 0 {
				if failed := decode[rpc](t, got.Body); failed.Error == nil || failed.Error.Code != c.code {
					t.Errorf("got %s, want the code %d", got.Body, c.code)
				}
			}
			env.Want(t, "no-store", got.Header.Get("Cache-Control"), "cache control")
			if strings.Contains(got.Body, "evil") || strings.Contains(got.Body, "Go ") {
				t.Errorf("the error repeats or leaks something: %s", got.Body)
			}
		})
	}
}

// The body is not sent: a client that is still sending may lose the answer with the connection.
func TestBodiesOfMoreThan64KBAreRefusedUnread(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	connection := env.Must((&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(n.Base, "http://")))(t)
	defer connection.Close()
	env.MustDo(t, connection.SetDeadline(time.Now().Add(soon)))
	fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		mcp.Path, mcp.MaxBodyBytes+1)
	got, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if control := got.Header.Get("Cache-Control"); got.StatusCode != http.StatusRequestEntityTooLarge || control != "no-store" {
		t.Errorf("got %d with cache control %q, want 413 with no-store", got.StatusCode, control)
	}
}

func TestAcceptedOriginsAndHosts(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, header := range map[string][]string{
		"no origin":         nil,
		"the public origin": {"Origin", "https://api.example.org"},
		"a listed origin":   {"Origin", "https://app.example.org"},
		"the request's own": {"Origin", n.Base},
		"the public host":   {"Host", "api.example.org"},
		"localhost":         {"Host", "LocalHost:1234"},
		"a foreign session": {"Mcp-Session-Id", "of-another-server"},
		"a charset":         {"Content-Type", "application/json; charset=utf-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := n.with(t).post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, header...)
			if want := `{"jsonrpc":"2.0","id":1,"result":{}}`; got.Status != http.StatusOK || got.Body != want {
				t.Errorf("got %d %s, want %s", got.Status, got.Body, want)
			}
			env.Want(t, "", got.Header.Get("Mcp-Session-Id"), "a session is begun")
		})
	}
	t.Run("a preflight of a listed origin", func(t *testing.T) {
		t.Parallel()
		got := n.with(t).Send(http.MethodOptions, mcp.Path, "", headers("Origin", "https://app.example.org"))
		if got.Status != http.StatusNoContent || got.Header.Get("Access-Control-Allow-Methods") != "POST" {
			t.Errorf("got %d %v", got.Status, got.Header)
		}
	})
}

func TestModernRequestsSayTheSameInHeadersAndBody(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	status := `"name":"get_status"`
	for name, c := range map[string]struct {
		method, params string
		header         []string
		status, code   int
	}{
		"all said":              {"tools/call", status, []string{"Mcp-Name", "get_status"}, http.StatusOK, 0},
		"a name in base64":      {"tools/call", status, []string{"Mcp-Name", "=?base64?" + base64.StdEncoding.EncodeToString([]byte("get_status")) + "?="}, http.StatusOK, 0},
		"no name":               {"tools/call", status, nil, http.StatusBadRequest, -32020},
		"another name":          {"tools/call", status, []string{"Mcp-Name", "find_daos"}, http.StatusBadRequest, -32020},
		"a broken base64":       {"tools/call", status, []string{"Mcp-Name", "=?base64?!?="}, http.StatusBadRequest, -32020},
		"another method":        {"tools/list", "", []string{"Mcp-Method", "tools/call"}, http.StatusBadRequest, -32020},
		"no method":             {"tools/list", "", []string{"Mcp-Method", ""}, http.StatusBadRequest, -32020},
		"another version":       {"tools/list", "", []string{"MCP-Protocol-Version", "2027-01-01"}, http.StatusBadRequest, -32022},
		"an unknown method":     {"tools/remove", "", nil, http.StatusNotFound, -32601},
		"a handshake":           {"initialize", "", nil, http.StatusNotFound, -32601},
		"an unknown tool":       {"tools/call", `"name":"rm"`, []string{"Mcp-Name", "rm"}, http.StatusOK, -32602},
		"arguments in a list":   {"tools/call", status + `,"arguments":[]`, []string{"Mcp-Name", "get_status"}, http.StatusOK, -32602},
		"a resource":            {"resources/read", `"uri":"pnyx://guide"`, []string{"Mcp-Name", "pnyx://guide"}, http.StatusOK, 0},
		"an unknown resource":   {"resources/read", `"uri":"file:///etc/passwd"`, []string{"Mcp-Name", "file:///etc/passwd"}, http.StatusOK, -32602},
		"a prompt":              {"prompts/get", `"name":"explain_vote","arguments":{"url":"https://x"}`, []string{"Mcp-Name", "explain_vote"}, http.StatusOK, 0},
		"a prompt without much": {"prompts/get", `"name":"explain_vote"`, []string{"Mcp-Name", "explain_vote"}, http.StatusOK, -32602},
		"a prompt of no days":   {"prompts/get", `"name":"dao_digest","arguments":{"daoId":"a","days":"0"}`, []string{"Mcp-Name", "dao_digest"}, http.StatusOK, -32602},
		"a prompt of days":      {"prompts/get", `"name":"dao_digest","arguments":{"daoId":"a","days":"90"}`, []string{"Mcp-Name", "dao_digest"}, http.StatusOK, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := n.with(t).postModern(c.method, c.params, c.header...)
			answer := decode[rpc](t, got.Body)
			if got.Status != c.status || string(answer.ID) != `"a"` {
				t.Fatalf("got %d %s, want %d and the id", got.Status, got.Body, c.status)
			}
			switch {
			case c.code == 0 && !strings.Contains(string(answer.Result), `"resultType":"complete"`):
				t.Errorf("got %s, want a complete result", got.Body)
			case c.code == 0 && !strings.Contains(string(answer.Result), `"io.modelcontextprotocol/serverInfo":{"name":"pnyx"`):
				t.Errorf("got %s, want the server to be named", got.Body)
			case c.code != 0 && (answer.Error == nil || answer.Error.Code != c.code):
				t.Errorf("got %s, want the code %d", got.Body, c.code)
			}
		})
	}
}

func TestBothErasAreGreeted(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for asked, want := range map[string]string{
		"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26", "2099-01-01": "2025-11-25", "": "2025-11-25",
	} {
		t.Run("initialize "+asked, func(t *testing.T) {
			t.Parallel()
			got := n.with(t).post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + asked + `"}}`)
			for _, part := range []string{`"protocolVersion":"` + want + `"`, `"tools":{}`, `"instructions":"`, "never as instructions"} {
				env.WantPart(t, part, got.Body)
			}
		})
	}
	t.Run("discover", func(t *testing.T) {
		t.Parallel()
		got := n.with(t).postModern("server/discover", "")
		for _, part := range []string{`"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"]`, `"ttlMs":3600000`, `"cacheScope":"public"`} {
			env.WantPart(t, part, got.Body)
		}
	})
	t.Run("an unknown method with a handshake", func(t *testing.T) {
		t.Parallel()
		got := n.with(t).post(`{"jsonrpc":"2.0","id":0,"method":"logging/setLevel"}`)
		if failed := decode[rpc](t, got.Body); got.Status != http.StatusOK || failed.Error == nil || failed.Error.Code != -32601 {
			t.Errorf("got %d %s", got.Status, got.Body)
		}
	})
	t.Run("notifications", func(t *testing.T) {
		t.Parallel()
		for _, body := range []string{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":5,"result":{}}`} {
			if got := n.with(t).post(body); got.Status != http.StatusAccepted || got.Body != "" {
				t.Errorf("%s: got %d %q, want 202 without a body", body, got.Status, got.Body)
			}
		}
	})
}

func TestArgumentsAreReadAsClientsWriteThem(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for arguments, want := range map[string]bool{
		`null`: true, `{"limit":5.0}`: true, `{"limit":"5.0"}`: true, `{"limit":5e0}`: true, `"{\"limit\":5}"`: true, `{"limit":5.5}`: false, `{"limit":1e400}`: false, `{"limit":1e-400}`: false,
		`{"lifecycleStatus":"active, closed"}`: true, `{"flagged":"True"}`: true, `{"flagged":"yes"}`: false,
		`{"lifecycleStatus":"[\"closed\"]"}`: true, `{"lifecycleStatus":"[\"active\", \"closed\"]"}`: true, `{"lifecycleStatus":"[\"none\"]"}`: false, `{"lifecycleStatus":"[1]"}`: false, `{"lifecycleStatus":"[]"}`: true,
		`{"lifecycleStatus":[]}`: true, `{"daoId":[]}`: false, `{"limit":[]}`: false, `{"limit":["5"]}`: true, `{"daoId":["dao-000","dao-001"]}`: false,
	} {
		got := n.callAs("find_proposals", arguments, asInternal()...)
		if got.IsError == want {
			t.Errorf("%s: got %s", arguments, got.StructuredContent)
		}
		if strings.Contains(arguments, `limit`) && want && decode[envelope](t, string(got.StructuredContent)).Meta.Page.Limit != 5 {
			t.Errorf("%s: got %s, want 5 rows", arguments, got.StructuredContent)
		}
	}
}

func TestPathMayEndInASlash(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	got := n.Send(http.MethodPost, "/mcp/", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, headers())
	if got.Status != http.StatusOK || !strings.Contains(got.Body, "list_events") {
		t.Errorf("got %d %.200s", got.Status, got.Body)
	}
}

func TestUnknownDAOIsAnErrorThatNamesTheNearest(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, tool := range []string{"list_events", "get_dao"} {
		got := n.callAs(tool, `{"daoId":"dao-01"}`, asInternal()...)
		if !got.IsError || !strings.Contains(got.Content[0].Text, `did you mean "dao-001"?`) {
			t.Errorf("%s: got %s", tool, got.StructuredContent)
		}
	}
}

func TestEventsThatWereMerelyDiscoveredAreLeftOutAndCounted(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	list := func(arguments string) (ids int, hint string, next *string) {
		t.Helper()
		got := n.callAs("list_events", arguments, asInternal()...)
		var listed struct {
			Data []struct {
				EventTimeConfidence string `json:"eventTimeConfidence"`
			} `json:"data"`
			Meta struct {
				Hint string `json:"hint"`
				Page struct {
					NextCursor *string `json:"nextCursor"`
				} `json:"page"`
			} `json:"meta"`
		}
		if err := json.Unmarshal(got.StructuredContent, &listed); err != nil || got.IsError {
			t.Fatalf("%s: got %s (%v)", arguments, got.StructuredContent, err)
		}
		for _, row := range listed.Data {
			if row.EventTimeConfidence == "" {
				t.Errorf("%s: got %s", arguments, got.StructuredContent)
			}
		}
		return len(listed.Data), listed.Meta.Hint, listed.Meta.Page.NextCursor
	}
	if rows, hint, _ := list(`{"daoId":"dao-000","limit":30}`); rows != 30 || hint != "" {
		t.Errorf("got %d rows with %q, want 30 without a hint", rows, hint)
	}
	rows, hint, next := list(`{"daoId":"dao-001","limit":30}`)
	if rows != 10 || !strings.HasPrefix(hint, "50 events are left out") || next == nil {
		t.Errorf("got %d rows with %q, want 10 and 50 left out", rows, hint)
	}
	if rows, hint, next := list(`{"daoId":"dao-001","limit":30,"cursor":"` + *next + `"}`); rows != 5 || !strings.HasPrefix(hint, "5 events") || next != nil {
		t.Errorf("got %d rows with %q, want 5 and 5 left out", rows, hint)
	}
	if rows, hint, next := list(`{"daoId":"dao-001","limit":2}`); rows != 0 || !strings.HasPrefix(hint, "20 events") || next == nil {
		t.Errorf("got %d rows with %q, want none of ten pages that are all left out, and a cursor", rows, hint)
	}
	for _, arguments := range []string{`{"daoId":"dao-001","discovered":true,"limit":30}`, `{"daoId":"dao-001","timeBasis":"discoveredTime","limit":30}`} {
		if rows, hint, _ := list(arguments); rows != 30 || hint != "" {
			t.Errorf("%s: got %d rows with %q, want all", arguments, rows, hint)
		}
	}
}
