package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"
)

const (
	// maxBody bounds the body of a request: the query, or data that it joins, in bytes.
	maxBody = 16 << 20
	// maxHeader bounds the header of a request, and with it a query in its URL, in bytes.
	maxHeader = 256 << 10
)

// newClient returns the client for the server. Each request has a connection of its own,
// which ends with it.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:        (&net.Dialer{Timeout: dialTimeout}).DialContext,
		DisableKeepAlives:  true,
		DisableCompression: true,
	}}
}

// serveHTTP passes a request on, if the right user signs in.
func (p *Proxy) serveHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/ping":
		_, _ = io.WriteString(w, "Ok.\n")
		return
	case r.URL.Path != "/":
		http.Error(w, "only / and /ping are served here", http.StatusNotFound)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodPost && r.Method != http.MethodHead:
		http.Error(w, "want GET, HEAD or POST", http.StatusMethodNotAllowed)
		return
	}
	parameters, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		http.Error(w, "malformed query string", http.StatusBadRequest)
		return
	}
	user, password := credentials(r, parameters)
	if reason := p.refuse(user, password); reason != "" {
		w.Header().Set("WWW-Authenticate", `Basic realm="ClickHouse"`)
		http.Error(w, reason+" (AUTHENTICATION_FAILED)", http.StatusUnauthorized)
		return
	}
	// Read to its end: a client that dies while it sends must not reach the server.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, fmt.Sprintf("want a body of at most %d bytes", maxBody), http.StatusRequestEntityTooLarge)
		return
	}
	// From here on a read that returns means that the client is gone.
	if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil {
		return
	}
	parameters.Del("user")
	parameters.Del("password")
	if parameters.Get("database") == "default" { // as many clients name it when they are told none
		parameters.Set("database", p.Database)
	}
	parameters.Set("cancel_http_readonly_queries_on_client_close", "1")
	p.forward(w, r, parameters, body, user, password)
}

// credentials returns the user and the password of a request in any form that ClickHouse
// accepts.
func credentials(r *http.Request, parameters url.Values) (user, password string) {
	//nolint:canonicalheader // ClickHouse's spelling
	if user = r.Header.Get("X-ClickHouse-User"); user != "" {
		return user, r.Header.Get("X-ClickHouse-Key") //nolint:canonicalheader // the same
	}
	if user, password, ok := r.BasicAuth(); ok {
		return user, password
	}
	return parameters.Get("user"), parameters.Get("password")
}

// forward sends a request to the server, and its answer to the client. The request outlives
// the client: when that is gone, our half of the connection is closed, and what is left of
// the answer is read.
func (p *Proxy) forward(
	w http.ResponseWriter, r *http.Request, parameters url.Values, body []byte, user, password string,
) {
	var connected halfCloser
	ctx := httptrace.WithClientTrace(context.WithoutCancel(r.Context()), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { connected.set(info.Conn) },
	})
	ctx, cancel := context.WithTimeout(ctx, maxSession+drainTimeout)
	defer cancel()
	address := "http://" + p.HTTPAddr + "/?" + parameters.Encode()
	request, err := http.NewRequestWithContext(ctx, r.Method, address, bytes.NewReader(body)) //nolint:gosec // the engine's address
	if err != nil {
		http.Error(w, "malformed request", http.StatusBadRequest)
		return
	}
	for _, name := range []string{
		"Content-Type", "Content-Encoding", "Accept-Encoding", "User-Agent", "X-ClickHouse-Database", "X-ClickHouse-Format",
	} {
		if value := r.Header.Get(name); value != "" {
			request.Header.Set(name, value)
		}
	}
	request.Header.Set("X-ClickHouse-User", user)    //nolint:canonicalheader // ClickHouse's spelling
	request.Header.Set("X-ClickHouse-Key", password) //nolint:canonicalheader // the same
	defer context.AfterFunc(r.Context(), connected.close)()
	response, err := p.client.Do(request) //nolint:gosec // the same
	if err != nil {
		p.Logger.WarnContext(ctx, "engine does not answer an analyst", slog.String("reason", errors.Unwrap(err).Error()))
		http.Error(w, "the engine is restarting, try again", http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	for name, values := range response.Header {
		if name != "Connection" && name != "Keep-Alive" && name != "Transfer-Encoding" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(response.StatusCode)
	if !copyBody(w, response.Body, connected.close) {
		panic(http.ErrAbortHandler) // the client must not take what it got for the whole
	}
}

// copyBody copies an answer to the client, and reports whether all of it has arrived. When
// the client takes nothing for writeTimeout, or the answer takes longer than maxSession, it
// calls giveUp and reads the rest.
func copyBody(w http.ResponseWriter, body io.Reader, giveUp func()) (complete bool) {
	controller := http.NewResponseController(w)
	began, buffer := time.Now(), make([]byte, 64<<10)
	for {
		n, readErr := body.Read(buffer)
		err := controller.SetWriteDeadline(time.Now().Add(writeTimeout))
		if err == nil && n > 0 {
			if _, err = w.Write(buffer[:n]); err == nil {
				err = controller.Flush()
			}
		}
		if err != nil || time.Since(began) > maxSession {
			giveUp()
			_, _ = io.Copy(io.Discard, body)
			return false
		}
		if readErr != nil {
			return errors.Is(readErr, io.EOF)
		}
	}
}

// halfCloser closes our half of a connection to the server, now or once there is one.
type halfCloser struct {
	mu     sync.Mutex
	conn   *net.TCPConn
	closed bool
}

func (h *halfCloser) set(conn net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conn, _ = conn.(*net.TCPConn)
	h.closeWrite()
}

func (h *halfCloser) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.closeWrite()
}

// closeWrite closes our half, which cancels the query there, and bounds what is read yet.
func (h *halfCloser) closeWrite() {
	if h.closed && h.conn != nil {
		_ = h.conn.CloseWrite()
		_ = h.conn.SetReadDeadline(time.Now().Add(drainTimeout))
	}
}
