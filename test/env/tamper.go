package env

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// Tamper answers as another handler does until Change is set, as a hostile or broken upstream does.
type Tamper struct {
	// Honest answers first.
	Honest http.Handler

	change atomic.Pointer[func(asked string, answer []byte) []byte]
}

// StartTamper serves what an honest handler answers until Change is set, and returns its address.
func StartTamper(tb testing.TB, honest http.Handler) (*Tamper, *url.URL) {
	tb.Helper()
	lying := &Tamper{Honest: honest}
	server := httptest.NewServer(lying)
	tb.Cleanup(server.Close)
	address := Must(url.Parse(server.URL))(tb)
	return lying, address
}

// Change replaces answers from now on. asked is the path, the parameters and the body of the request.
func (t *Tamper) Change(change func(asked string, answer []byte) []byte) { t.change.Store(&change) }

// ChangeOf replaces the answers to requests that contain a part from now on.
func (t *Tamper) ChangeOf(part string, change func(answer []byte) []byte) {
	t.Change(func(asked string, answer []byte) []byte {
		if !strings.Contains(asked, part) {
			return answer
		}
		return change(answer)
	})
}

// Answer replaces the answers to requests that contain all parts by a text from now on.
func (t *Tamper) Answer(text string, parts ...string) {
	t.Change(func(asked string, answer []byte) []byte {
		if slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(asked, part) }) {
			return answer
		}
		return []byte(text)
	})
}

// Relent answers as Honest does from now on.
func (t *Tamper) Relent() { t.change.Store(nil) }

// ServeHTTP implements http.Handler.
func (t *Tamper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	noted := httptest.NewRecorder()
	t.Honest.ServeHTTP(noted, r)
	answer := noted.Body.Bytes()
	if change := t.change.Load(); change != nil {
		answer = (*change)(r.URL.String()+" "+string(body), answer)
	}
	maps.Copy(w.Header(), noted.Header())
	w.Header().Del("Content-Length")
	w.WriteHeader(noted.Code)
	_, _ = w.Write(answer) // a client that left needs nothing
}
