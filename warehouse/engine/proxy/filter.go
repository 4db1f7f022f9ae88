package proxy

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxBody bounds the body of a request, in bytes. The server bounds a query to a quarter of it.
	maxBody = 1 << 20
	// maxHeader bounds the header of a request, and with it a query in its URL, in bytes.
	maxHeader = 256 << 10
	// maxBuffer bounds how much of a result the server may hold back before it begins to answer, in bytes.
	maxBuffer = 16 << 20
	// maxName bounds the name of a query, of a session or of a placeholder, in bytes.
	maxName = 256
)

func knownParameters() []string {
	return []string{
		"query", "database", "default_format", "query_id", "session_id", "user", "password",
		"compress", "wait_end_of_query", "buffer_size", "client_protocol_version",
	}
}

// placeholder is the prefix of a parameter that gives the value of a placeholder in the query.
const placeholder = "param_"

// knownTypes returns the types that a body may have. They differ in nothing: clients name one or another.
func knownTypes() []string {
	return []string{"text/plain", "application/octet-stream", "application/x-www-form-urlencoded", "application/json"}
}

// A refusal is what a client is told instead of an answer.
type refusal struct {
	status int
	reason string
}

// filter checks a request, makes parameters what the server gets, and returns the body.
func (p *Proxy) filter(w http.ResponseWriter, r *http.Request, parameters url.Values) ([]byte, *refusal) {
	if r.Header.Get("Content-Encoding") != "" {
		return nil, &refusal{http.StatusUnsupportedMediaType, "want the query without Content-Encoding"}
	}
	if given := r.Header.Get("Content-Type"); given != "" {
		if kind, _, err := mime.ParseMediaType(given); err != nil || !slices.Contains(knownTypes(), kind) {
			types := strings.Join(knownTypes(), " or ")
			return nil, &refusal{http.StatusUnsupportedMediaType, "want the query as the body, with Content-Type " + types + ", or none"}
		}
	}
	if reason := p.rewrite(parameters); reason != "" {
		return nil, &refusal{http.StatusBadRequest, reason}
	}
	if id := parameters.Get("session_id"); id != "" && !p.sessions.admit(id) {
		return nil, &refusal{http.StatusTooManyRequests, fmt.Sprintf("want at most %d sessions within a minute", maxSessions)}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("want a body of at most %d bytes", maxBody)}
	}
	return body, nil
}

// rewrite changes a client's parameters into what the server gets, or returns why they are refused.
func (p *Proxy) rewrite(parameters url.Values) string {
	for name, values := range parameters {
		if reason := p.refuseParameter(name, values); reason != "" {
			return reason
		}
	}
	parameters.Del("user")
	parameters.Del("password")
	if parameters.Get("database") == "default" { // as many clients name it when they are told none
		parameters.Set("database", p.Database)
	}
	return ""
}

// refuseParameter returns why a parameter is refused, or "".
func (p *Proxy) refuseParameter(name string, values []string) string {
	if len(values) != 1 {
		return fmt.Sprintf("parameter %q: want it once", name)
	}
	_, isSetting := slices.BinarySearch(p.Settings, name)
	switch {
	case len(name) > maxName:
		return fmt.Sprintf("parameter %.40q…: want a name of at most %d bytes", name, maxName)
	case strings.HasPrefix(name, placeholder), isSetting:
		return ""
	case !slices.Contains(knownParameters(), name):
		return fmt.Sprintf("parameter %q: want one of %s, %s…, or a setting that an analyst may change; docs/analysts.md lists them",
			name, strings.Join(knownParameters(), ", "), placeholder)
	}
	switch value := values[0]; name {
	case "query_id", "session_id":
		if len(value) > maxName {
			return fmt.Sprintf("parameter %q: want at most %d bytes", name, maxName)
		}
	case "buffer_size":
		if bytes, err := strconv.ParseUint(value, 10, 64); err != nil || bytes > maxBuffer {
			return fmt.Sprintf("parameter %q: want a number of bytes up to %d", name, maxBuffer)
		}
	}
	return ""
}
