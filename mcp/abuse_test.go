package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"pnyx/access"
	"pnyx/mcp"
	"pnyx/test/apinode"
	"pnyx/test/env"
)

// The page is not made yet. It is not parallel: it takes the machine for itself.
func TestAttackManyCallersAtOnceAreAllAnswered(t *testing.T) {
	n := newNode(t)
	n.Client.Timeout = 10 * soon // the node gives up first
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_signals","arguments":{"from":"2026-07-01","to":"2026-07-08","detail":"full","limit":50}}}`
	env.Concurrently(t, 200, 200, func(int) error {
		got, err := n.TrySend(http.MethodPost, mcp.Path, body, headers(asInternal()...))
		if err != nil || got.Status != http.StatusOK || !strings.Contains(got.Body, `"structuredContent":{"data"`) {
			return fmt.Errorf("got %d %.300s, %w, want data", got.Status, got.Body, err)
		}
		return nil
	})
}

// pipes is a listener of connections that hold no bytes.
type pipes struct {
	accepted chan net.Conn
	closed   context.Context
	close    context.CancelFunc
}

// Accept implements net.Listener.
func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accepted:
		return conn, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p pipes) Close() error { p.close(); return nil }

// Addr implements net.Listener.
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// The next call of a connection is not begun before the answer to the one before is on its way: what a node holds for callers
// that read nothing is one answer each, and answers are bounded.
func TestAttackCallersThatDoNotReadHaveOneAnswerEachInMemory(t *testing.T) {
	t.Parallel()
	const callers, maxAnswer = 50, 150_000
	n := newNode(t)
	closed, stop := context.WithCancel(t.Context())
	listener := pipes{make(chan net.Conn), closed, stop}
	served := make(chan error, 1)
	go func() { served <- n.API.Serve(listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Logf("served until %v", err)
		}
	})
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_topic","arguments":{"topicKey":"` + string(sampleTopicKey) + `","textLimit":20000}}}`
	request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s: %s\r\nContent-Length: %d\r\n\r\n%s",
		mcp.Path, access.HeaderInternal, apinode.InternalToken, len(body), body)
	connect := func() net.Conn {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { theirs.Close() })
		listener.accepted <- ours
		go func() { _, _ = io.WriteString(theirs, strings.Repeat(request, 5)) }() // ends with the pipe
		return theirs
	}
	for range callers {
		connect()
	}
	answered := func() float64 {
		return env.Counts(t, n.Registry, "pnyx_mcp_calls_total")["outcome=ok tool=get_topic"]
	}
	env.Until(t, func() error {
		if got := answered(); got < callers {
			return fmt.Errorf("%v calls are answered, want %d", got, callers)
		}
		return nil
	})
	for range 20 {
		n.wantData("find_daos", `{}`)
	}
	env.Want(t, callers, answered(), "calls are answered that nobody reads", "one a connection")
	reader := bufio.NewReader(connect()) // the others may be cut off by now
	for range 5 {                        // who reads gets everything
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || len(text) < 16<<10 || len(text) > maxAnswer {
			t.Errorf("got %d with %d bytes, %v, want a long answer of at most %d", response.StatusCode, len(text), err, maxAnswer)
		}
	}
}

// What an answer repeats of a request is bounded.
func TestAttackAnswersRepeatLittle(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	long := strings.Repeat("x", 60_000)
	var names bytes.Buffer
	for i := range 4000 {
		fmt.Fprintf(&names, `"n%d":1,`, i)
	}
	for name, body := range map[string]string{
		"a long tool":     `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + long + `"}}`,
		"a long method":   `{"jsonrpc":"2.0","id":1,"method":"` + long + `"}`,
		"a long argument": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_daos","arguments":{"name":"` + long + `"}}}`,
		"a long name":     `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_daos","arguments":{"` + long + `":1}}}`,
		"many names":      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_daos","arguments":{` + names.String() + `"a":1}}}`,
		"a long prompt":   `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"explain_vote","arguments":{"url":"` + long + `"}}}`,
		"a long version":  `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + long + `"}}`,
		"a long resource": `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + long + `"}}`,
		"a long payment":  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_daos","arguments":{"limit":0},"_meta":{"x402/payment":"` + long + `"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := n.with(t).post(body, asInternal()...)
			if got.Status != http.StatusOK || len(got.Body) > 20_000 {
				t.Errorf("got %d with %d bytes, want a short answer", got.Status, len(got.Body))
			}
		})
	}
}
