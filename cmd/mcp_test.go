package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"pnyx/test/env"
)

// mcpServer is an HTTP server in place of a node, which records what it is asked.
type mcpServer struct {
	*httptest.Server

	mu   sync.Mutex
	seen []*http.Request
	body []string
}

// startMCPServer runs a server that answers each request as the test says.
func startMCPServer(t *testing.T, answer http.HandlerFunc) *mcpServer {
	t.Helper()
	s := &mcpServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read the request: %v", err)
		}
		s.mu.Lock()
		s.seen, s.body = append(s.seen, r), append(s.body, string(body))
		s.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// answerMCP answers a request with a result, and accepts anything else.
func answerMCP(w http.ResponseWriter, r *http.Request) {
	var message mcpMessage
	_ = json.NewDecoder(r.Body).Decode(&message)
	if message.ID == nil || message.Method == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	fmt.Fprintf(w, "{\n  \"jsonrpc\": \"2.0\", \"id\": %s,\n  \"result\": {\"protocolVersion\": \"2025-06-18\"}}\n", message.ID)
}

// pipe sends lines through pnyx mcp, and returns what it prints.
func (s *mcpServer) pipe(t *testing.T, input string) string {
	t.Helper()
	var out env.Buffer
	p := env.Must(newMCPPipe(s.URL, "the-token", &out, slog.New(slog.DiscardHandler)))(t)
	env.WantError(t, nil, p.run(t.Context(), strings.NewReader(input)), "run")
	return out.String()
}

func TestMCPHeadersAreMadeFromTheMessage(t *testing.T) {
	t.Parallel()
	const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for name, test := range map[string]struct {
		line string
		want map[string]string
	}{
		"a list of tools":      {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modern + `}}`, map[string]string{"Mcp-Method": "tools/list", "Mcp-Protocol-Version": "2026-07-28"}},
		"a tool":               {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_dao",` + modern + `}}`, map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "get_dao", "Mcp-Protocol-Version": "2026-07-28"}},
		"a prompt":             {`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"dao_digest",` + modern + `}}`, map[string]string{"Mcp-Method": "prompts/get", "Mcp-Name": "dao_digest", "Mcp-Protocol-Version": "2026-07-28"}},
		"a resource":           {`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"pnyx://guide","name":"x",` + modern + `}}`, map[string]string{"Mcp-Method": "resources/read", "Mcp-Name": "pnyx://guide", "Mcp-Protocol-Version": "2026-07-28"}},
		"a name beyond ASCII":  {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"größe"}}`, map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?Z3LDtsOfZQ==?="}},
		"a name with a space":  {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":" x"}}`, map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?IHg=?="}},
		"a name like base64":   {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"=?base64?literal?="}}`, map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="}},
		"a name with a break":  {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a\r\nX: y"}}`, map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?YQ0KWDogeQ==?="}},
		"a legacy handshake":   {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`, map[string]string{"Mcp-Method": "initialize"}},
		"a notification":       {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, map[string]string{"Mcp-Method": "notifications/initialized"}},
		"a batch":              {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, map[string]string{}},
		"a name of a bad type": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, map[string]string{"Mcp-Method": "tools/call"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startMCPServer(t, answerMCP)
			s.pipe(t, test.line+"\n")
			if len(s.seen) != 1 || s.body[0] != test.line || s.seen[0].Method != http.MethodPost || s.seen[0].URL.Path != "/mcp" {
				t.Fatalf("got %d requests with bodies %q, want one POST /mcp of the line", len(s.seen), s.body)
			}
			got := map[string]string{}
			for key := range s.seen[0].Header {
				if strings.HasPrefix(key, "Mcp-") {
					got[key] = s.seen[0].Header.Get(key)
				}
			}
			env.WantSame(t, "headers", test.want, got)
			for key, want := range map[string]string{
				"X-Service-Api-Token": "the-token", "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			} {
				env.Want(t, want, s.seen[0].Header.Get(key), key)
			}
		})
	}
}

func TestMCPWritesOneLineForEachRequest(t *testing.T) {
	t.Parallel()
	long := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + strings.Repeat("x", maxMCPLine) + `"}}`
	for name, test := range map[string]struct{ input, want string }{
		"a request":             {`{"jsonrpc":"2.0","id":"a","method":"ping"}` + "\n", `{"jsonrpc":"2.0","id":"a","result":{"protocolVersion":"2025-06-18"}}` + "\n"},
		"without an end":        {`{"jsonrpc":"2.0","id":7,"method":"ping"}`, `{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":"2025-06-18"}}` + "\n"},
		"a notification":        {`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n", ""},
		"an answer":             {`{"jsonrpc":"2.0","id":7,"result":{}}` + "\n", ""},
		"empty lines":           {"\n  \r\n\n", ""},
		"no input":              {"", ""},
		"no JSON":               {"hello\n", `{"error":{"code":-32700,"message":"the line is not JSON: want one message of JSON-RPC a line"},"id":null,"jsonrpc":"2.0"}` + "\n"},
		"too long a line":       {long + "\n", fmt.Sprintf(`{"error":{"code":-32600,"message":"message over %d bytes"},"id":null,"jsonrpc":"2.0"}`, maxMCPLine) + "\n"},
		"too long, without end": {long, fmt.Sprintf(`{"error":{"code":-32600,"message":"message over %d bytes"},"id":null,"jsonrpc":"2.0"}`, maxMCPLine) + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env.Want(t, test.want, startMCPServer(t, answerMCP).pipe(t, test.input))
		})
	}
}

func TestMCPGoesOnAfterALineThatIsTooLong(t *testing.T) {
	t.Parallel()
	got := startMCPServer(t, answerMCP).pipe(t, strings.Repeat("x", 3*maxMCPLine)+"\n"+`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
	if lines := strings.Count(got, "\n"); lines != 2 || !strings.Contains(got, `"id":2,"result"`) {
		t.Errorf("got %q, want an error and the answer to the next line", got)
	}
}

// TestMCPAnswersWhatTheNodeDoesNot checks that no request stays without an answer.
func TestMCPAnswersWhatTheNodeDoesNot(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"an error of MCP": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"unknown method"}}`)
			},
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"unknown method"}}`,
		},
		"an error of the edge": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusServiceUnavailable)
				fmt.Fprint(w, `{"error":{"code":"SERVICE_UNAVAILABLE","message":"try again"},"meta":{}}`)
			},
			"HTTP 503 try again: want an answer of MCP",
		},
		"a page of a proxy": {
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>sign in</html>") },
			"HTTP 200 OK: want an answer of MCP, got 20 bytes",
		},
		"nothing":  {func(http.ResponseWriter, *http.Request) {}, "HTTP 200 OK: want an answer of MCP, got 0 bytes"},
		"accepted": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }, "HTTP 202 Accepted: want an answer of MCP"},
		"a redirect": {
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://127.0.0.1:1/mcp", http.StatusPermanentRedirect)
			},
			"HTTP 308 Permanent Redirect",
		},
		"an answer without an end": {
			func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.Copy(w, io.LimitReader(neverending('x'), maxMCPAnswer+9)) // the pipe closes the connection
			},
			"want an answer of MCP",
		},
		"a closed connection": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "/mcp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startMCPServer(t, test.answer)
			got := s.pipe(t, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`+"\n")
			var answer struct {
				ID    int
				Error struct{ Message string }
			}
			if err := json.Unmarshal([]byte(got), &answer); err != nil || answer.ID != 7 || !strings.Contains(got, test.want) || strings.Count(got, "\n") != 1 {
				t.Errorf("got %q (%v), want one error with id 7 and %q", got, err, test.want)
			}
			if strings.Contains(got, "the-token") {
				t.Errorf("got the token in %q", got)
			}
			env.Want(t, "", s.pipe(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"), "a notification", "no line")
		})
	}
}

// neverending is a reader of one byte, forever.
type neverending byte

func (b neverending) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

func TestMCPStatesTheVersionThatInitializeAgreedOn(t *testing.T) {
	t.Parallel()
	s := startMCPServer(t, answerMCP)
	input, client := io.Pipe()
	var out env.Buffer
	p := env.Must(newMCPPipe(s.URL+"/mcp", "", &out, slog.New(slog.DiscardHandler)))(t)
	ended := make(chan error, 1)
	go func() { ended <- p.run(t.Context(), input) }()
	// A client waits for the answer to initialize before it goes on.
	fmt.Fprintln(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	env.Until(t, func() error {
		if !strings.Contains(out.String(), `"id":1`) {
			return errors.New("initialize is not answered")
		}
		return nil
	})
	fmt.Fprintln(client, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	env.MustDo(t, client.Close())
	if err := <-ended; err != nil {
		t.Errorf("the end of the input: got %v, want no error", err)
	}
	env.Want(t, "2025-06-18", s.seen[1].Header.Get("Mcp-Protocol-Version"), "MCP-Protocol-Version", "the one of the answer to initialize")
	if got := s.seen[0].Header.Values("X-Service-Api-Token"); len(got) != 0 {
		t.Errorf("without a token: got %q, want no header", got)
	}
}

// TestMCPCallsDoNotWaitForEachOther holds one call at the node and makes another.
func TestMCPCallsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	answered := make(chan struct{})
	s := startMCPServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Name") == "slow" {
			<-answered
		} else {
			defer close(answered)
		}
		answerMCP(w, r)
	})
	got := s.pipe(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"quick"}}
`)
	for _, id := range []string{`"id":1,"result"`, `"id":2,"result"`} {
		if strings.Count(got, id) != 1 {
			t.Errorf("got %q, want one line with %s", got, id)
		}
	}
}

func TestMCPEndsWithItsContext(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	s := startMCPServer(t, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	input, client := io.Pipe()
	t.Cleanup(func() { _ = client.Close() })
	p := env.Must(newMCPPipe(s.URL, "", io.Discard, slog.New(slog.DiscardHandler)))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx, input) }()
	fmt.Fprintln(client, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	<-asked
	cancel()
	env.WantError(t, context.Canceled, <-ended)
}

func TestMCPRefusesAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "api.example.org", "ftp://api.example.org", "http://", "http://x/?token=y", "http://%", "http://u:secret@x", "http://x/#part"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			if _, err := newMCPPipe(address, "", nil, nil); err == nil || !strings.Contains(err.Error(), "want http:// or https://") || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want an error that says what is allowed, and no password", err)
			}
		})
	}
}

func TestMCPAddressMayHaveThePath(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"https://a", "https://a/", "https://a/mcp", "https://a/mcp/"} {
		env.Want(t, "https://a/mcp", env.Must(newMCPPipe(address, "", nil, nil))(t).endpoint, address)
	}
}
