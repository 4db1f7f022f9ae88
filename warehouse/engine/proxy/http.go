package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// serveHTTP passes a request on, if the right user signs in and the lists allow it.
func (p *Proxy) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.begin() {
		panic(http.ErrAbortHandler) // an answer without rows would say that there are none
	}
	defer p.serving.Done()
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		http.Error(w, "want GET or POST", http.StatusMethodNotAllowed)
		return
	case r.URL.Path == "/ping":
		_, _ = io.WriteString(w, "Ok.\n")
		return
	case r.URL.Path != "/":
		http.Error(w, "only / and /ping are served here", http.StatusNotFound)
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
	body, refused := p.filter(w, r, parameters)
	if refused != nil {
		http.Error(w, refused.reason, refused.status)
		return
	}
	// From here on a read that returns means that the client is gone.
	if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil {
		return
	}
	p.forward(w, r, parameters, body, user, password)
}

// credentials returns the user and the password of a request in any form that ClickHouse accepts.
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

// forward sends a request to the server, and its answer to the client. When the client is
// gone, takes nothing for writeTimeout, or the answer takes longer than maxAnswer, the
// connection to the server is closed, which ends the query there.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, parameters url.Values, body []byte, user, password string) {
	ctx, cancel := context.WithTimeout(r.Context(), maxAnswer)
	defer cancel()
	address := "http://" + p.HTTPAddr + "/?" + parameters.Encode()
	request, err := http.NewRequestWithContext(ctx, r.Method, address, bytes.NewReader(body)) //nolint:gosec // the engine's address
	if err != nil {
		http.Error(w, "malformed request", http.StatusBadRequest)
		return
	}
	// The server gets no type of a body: a body is a query.
	for _, name := range []string{"Accept-Encoding", "User-Agent", "X-ClickHouse-Database", "X-ClickHouse-Format"} {
		if value := r.Header.Get(name); value != "" {
			request.Header.Set(name, value)
		}
	}
	request.Header.Set("X-ClickHouse-User", user)    //nolint:canonicalheader // ClickHouse's spelling
	request.Header.Set("X-ClickHouse-Key", password) //nolint:canonicalheader // the same
	response, err := p.client.Do(request)            //nolint:gosec // the same
	if err != nil {
		if r.Context().Err() == nil {
			p.Logger.WarnContext(ctx, "engine does not answer an analyst", slog.String("reason", errors.Unwrap(err).Error()))
		}
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
	if !copyBody(w, response.Body) {
		panic(http.ErrAbortHandler) // the client must not take what it got for the whole
	}
}

// copyBody copies an answer to the client, and reports whether all of it has arrived.
func copyBody(w http.ResponseWriter, body io.Reader) (complete bool) {
	controller, buffer := http.NewResponseController(w), make([]byte, 64<<10)
	for {
		n, readErr := body.Read(buffer)
		err := controller.SetWriteDeadline(time.Now().Add(writeTimeout))
		if err == nil && n > 0 {
			if _, err = w.Write(buffer[:n]); err == nil {
				err = controller.Flush()
			}
		}
		if err != nil || readErr != nil {
			return err == nil && errors.Is(readErr, io.EOF)
		}
	}
}
