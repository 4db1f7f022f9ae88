package api_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
)

// answersTo sends bytes over one connection and returns the statuses of all answers, and
// whether the node closed the connection. What it keeps open is asked once more.
func (t *node) answersTo(bytes string) (statuses []int, closed bool) {
	t.Helper()
	reader := t.send(bytes)
	for {
		response, err := http.ReadResponse(reader, nil)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return statuses, true
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if statuses = append(statuses, response.StatusCode); len(statuses) == 2 {
			return statuses, false
		}
	}
}

func TestAttackRequestsOfTwoLengthsAreRefusedAndTheConnectionClosed(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const smuggled = "GET /llms.txt HTTP/1.1\r\nHost: pnyx\r\n\r\n"
	for name, lines := range map[string]string{
		"length and chunks":         "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"chunks and length":         "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
		"two lengths":               "Content-Length: 5\r\nContent-Length: 0\r\n\r\n",
		"one length twice":          "Content-Length: 0\r\ncontent-length: 0\r\n\r\n",
		"chunks twice":              "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"unknown encoding":          "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"identity":                  "Transfer-Encoding: identity\r\n\r\n",
		"lines without returns":     "Content-Length: 5\nTransfer-Encoding: chunked\n\r\n0\r\n\r\n",
		"folded line":               "X-A: b\r\n Content-Length: 5\r\n\r\n",
		"carriage return in a line": "X-A: b\rContent-Length: 5\r\n\r\n",
		"zero byte":                 "X-A: b\x00\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			statuses, closed := n.with(t).answersTo("POST /v2/daos HTTP/1.1\r\nHost: pnyx\r\n" + lines + smuggled)
			if len(statuses) != 1 || statuses[0] != http.StatusBadRequest || !closed {
				t.Errorf("got %v, closed %t, want 400 alone and the end of the connection", statuses, closed)
			}
		})
	}
	for name, target := range map[string]string{"space": "/v2/daos /x", "control character": "/v2/daos?\x01"} {
		t.Run(name, func(t *testing.T) {
			statuses, closed := n.with(t).answersTo("GET " + target + " HTTP/1.1\r\nHost: pnyx\r\n\r\n" + smuggled)
			if len(statuses) != 1 || statuses[0] != http.StatusBadRequest || !closed {
				t.Errorf("got %v, closed %t, want 400 alone and the end of the connection", statuses, closed)
			}
		})
	}
	for name, lines := range map[string]string{"length": "Content-Length: 1\r\n\r\nx", "chunks": "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"} {
		t.Run("one "+name, func(t *testing.T) {
			if statuses, _ := n.with(t).answersTo("GET /v2/daos HTTP/1.1\r\nHost: pnyx\r\n" + lines + smuggled); len(statuses) != 2 || statuses[1] != http.StatusOK {
				t.Errorf("got %v, want two answers", statuses)
			}
		})
	}
}
