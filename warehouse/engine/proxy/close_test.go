package proxy

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestRequestAfterCloseHasNoAnswer sends a request that was accepted just before Close.
func TestRequestAfterCloseHasNoAnswer(t *testing.T) {
	p := &Proxy{closed: true}
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("got %v, want %v", err, http.ErrAbortHandler)
		}
	}()
	answer := httptest.NewRecorder()
	p.serveHTTP(answer, httptest.NewRequest(http.MethodGet, "/?query=SELECT+1", http.NoBody))
	t.Errorf("got the answer %d %q, want none", answer.Code, answer.Body)
}
