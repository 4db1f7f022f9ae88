package mcp_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"pnyx/access"
	"pnyx/mcp"
	"pnyx/test/env"
)

// testManyCallers sends calls at once. A node that is asked for more than Redis gives at once says so, and that it is worth
// asking again; nobody waits in vain, and what comes after is answered.
func testManyCallers(t *testing.T, callers int) {
	t.Helper()
	n := newNode(t)
	n.client.Timeout = 10 * soon // the node, whose pool of Redis connections is short, gives up first
	arguments := `{"from":"2026-07-01","to":"2026-07-08","detail":"full","limit":50}`
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_signals","arguments":` + arguments + `}}`
	var calling sync.WaitGroup
	for range callers {
		calling.Go(func() {
			got, err := n.trySend(http.MethodPost, mcp.Path, body, headers(asInternal()...))
			switch {
			case err != nil:
				t.Error(err)
			case got.status == http.StatusOK && strings.Contains(got.body, `"structuredContent":{"data"`):
			case got.status == http.StatusOK && strings.Contains(got.body, `"code":"UNAVAILABLE"`) && strings.Contains(got.body, "Try again in "):
			default:
				t.Errorf("got %d %.300s, want data, or when to try again", got.status, got.body)
			}
		})
	}
	calling.Wait()
	n.wantData("list_signals", arguments)
}

// It is not parallel: it takes the machine for itself.
func TestAttackManyCallersAtOnceAreAllAnswered(t *testing.T) { testManyCallers(t, 50) }

// It is not parallel: it takes the machine for itself.
func TestLongAThousandCallersAtOnceAreAllAnswered(t *testing.T) {
	env.Long(t)
	testManyCallers(t, 1000)
}

// Callers that do not read what they asked for keep nobody else from an answer.
func TestAttackCallersThatDoNotReadHoldNobodyUp(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_topic","arguments":{"topicKey":"` + string(sampleTopicKey) + `","textLimit":20000}}}`
	request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s: %s\r\nContent-Length: %d\r\n\r\n%s",
		mcp.Path, access.HeaderInternal, internalToken, len(body), body)
	for range 50 {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(n.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { connection.Close() })
		if _, err := io.WriteString(connection, strings.Repeat(request, 20)); err != nil {
			t.Fatal(err)
		}
	}
	n.wantData("find_daos", `{}`)
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
			if got.status != http.StatusOK || len(got.body) > 20_000 {
				t.Errorf("got %d with %d bytes, want a short answer", got.status, len(got.body))
			}
		})
	}
}
