package mcp_test

import (
	"bytes"
	"compress/zlib"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"pnyx/api/apierror"
	"pnyx/mcp"
	"pnyx/test/apinode"
	"pnyx/test/env"
)

// bomb is a stream of so many spaces.
func bomb(tb testing.TB, spaces int, encoders ...func(io.Writer) io.WriteCloser) string {
	tb.Helper()
	text := bytes.Repeat([]byte(" "), spaces)
	for _, encoder := range encoders {
		var out bytes.Buffer
		w := encoder(&out)
		env.Must(w.Write(text))(tb)
		env.MustDo(tb, w.Close())
		text = out.Bytes()
	}
	return string(text)
}

// A small body that decodes to a large one is refused, and never decoded.
func TestAttackEncodedBodiesFillNoMemory(t *testing.T) { // not parallel: it measures memory
	n := newNode(t)
	zip := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
	flat := func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }
	zstandard := func(w io.Writer) io.WriteCloser {
		return env.Must(zstd.NewWriter(w))(t)
	}
	const spaces = 64 << 20
	for name, sent := range map[string]struct{ encoding, body string }{
		"brotli":     {"br", bomb(t, spaces, func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) })},
		"gzip":       {"gzip", bomb(t, spaces/2, zip)},
		"gzip twice": {"gzip, gzip", bomb(t, spaces, zip, zip)},
		"zstd":       {"zstd", bomb(t, spaces, zstandard)},
		"deflate":    {"deflate", bomb(t, spaces/2, flat)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := n.post(sent.body, append(asInternal(), "Content-Encoding", sent.encoding)...)
		runtime.ReadMemStats(&after)
		if got.Status != http.StatusUnsupportedMediaType || got.Header.Get("Accept-Encoding") != "identity" || !strings.Contains(got.Body, `"VALIDATION_ERROR"`) {
			t.Errorf("%s, %d bytes: got %d %.200s, want 415 in the envelope", name, len(sent.body), got.Status, got.Body)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8<<20 {
			t.Errorf("%s: %d bytes were allocated for a body of %d", name, allocated, len(sent.body))
		}
	}
}

// Whatever a message turns out to be, it takes from the bucket of the address, once.
func TestAttackEveryMessageTakesFromTheBucketOfTheAddress(t *testing.T) {
	t.Parallel()
	const deep = 30_000
	for name, body := range map[string]string{
		"tools/list":          `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		"initialize":          `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
		"ping":                `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		"prompts/list":        `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`,
		"resources/read":      `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"nothing"}}`,
		"unknown method":      `{"jsonrpc":"2.0","id":1,"method":"no/such"}`,
		"unknown tool":        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such"}}`,
		"arguments no object": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_daos","arguments":7}}`,
		"wrong arguments":     `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_daos","arguments":{"x":1}}}`,
		"a call":              `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_daos","arguments":{}}}`,
		"a call to be paid":   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_ballots","arguments":` + oneProposal + `}}`,
		"notification":        `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		"response":            `{"jsonrpc":"2.0","id":1,"result":{}}`,
		"batch":               `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		"no JSON":             `hello`,
		"deep JSON":           `{"params":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `}`,
		"nothing":             ``,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startNode(t, apinode.Settings{FreeRate: 1})
			limited := func(got apinode.Response) bool {
				return got.Status == http.StatusTooManyRequests || strings.Contains(got.Body, string(apierror.CodeRateLimited))
			}
			for i, want := range []bool{false, true, true} {
				if got := n.post(body); limited(got) != want {
					t.Fatalf("request %d: got %d %.300s, limited %t, want %t", i+1, got.Status, got.Body, !want, want)
				}
			}
			for range 5 {
				if got := n.post(body, asInternal()...); limited(got) {
					t.Fatalf("got %d %.300s for an internal caller", got.Status, got.Body)
				}
			}
		})
	}
	for name, asked := range map[string]struct {
		method string
		header http.Header
	}{
		"GET":            {http.MethodGet, nil},
		"DELETE":         {http.MethodDelete, nil},
		"preflight":      {http.MethodOptions, nil},
		"foreign origin": {http.MethodPost, headers("Origin", "https://evil.example")},
		"no JSON type":   {http.MethodPost, http.Header{"Content-Type": {"text/plain"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startNode(t, apinode.Settings{FreeRate: 1})
			var statuses []int
			for range 3 {
				statuses = append(statuses, n.Send(asked.method, mcp.Path, "", asked.header).Status)
			}
			if statuses[0] == http.StatusTooManyRequests || statuses[1] != http.StatusTooManyRequests {
				t.Errorf("got %v, want all but the first refused", statuses)
			}
		})
	}
}

// A name that two parsers may read differently is refused: what is in front decides by the
// body, too.
func TestAttackMembersAreNamedOnceAndExactly(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for name, body := range map[string]string{
		"two ids":              `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`,
		"two ids, one escaped": `{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"ping"}`,
		"another case":         `{"jsonrpc":"2.0","id":1,"METHOD":"ping"}`,
		"both cases":           `{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"ping"}`,
		"two names":            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_status","name":"find_daos"}}`,
		"a name, another case": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"find_daos"}}`,
		"two arguments":        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_daos","arguments":{"limit":1,"limit":2}}}`,
		"two payments":         `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_daos","_meta":{"x402/payment":{},"x402/payment":null}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			got := n.with(t).post(body, asInternal()...)
			if answered := decode[rpc](t, got.Body); answered.Error == nil {
				t.Errorf("got %d %.200s, want an error of the protocol", got.Status, got.Body)
			}
		})
	}
	if got := n.post(`{"jsonrpc":"2.0","id":1,"method":"ping","extra":{"a":1,"A":2},"params":{"_meta":{"own/x":1,"own/X":2}}}`, asInternal()...); got.Status != http.StatusOK {
		t.Errorf("got %d %s, want that other members are ignored", got.Status, got.Body)
	}
}
