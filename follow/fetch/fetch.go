// Package fetch asks upstream systems over HTTP, no faster than they allow.
//
// A [Client] has one [Host] for each upstream host. A Host spaces out its requests, obeys
// Retry-After and rate limit headers, retries what may pass, and stops asking for a while
// after repeated failures. Answers are bounded in size. Redirects to private addresses are
// refused. Errors name the host and never contain keys.
package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/follow/clock"
)

// maxBodyBytes bounds an answer.
const maxBodyBytes = 32 << 20

// ErrTooLarge reports an answer above maxBodyBytes.
var ErrTooLarge = errors.New("answer is larger than 32 MiB")

// StatusError is an answer with a status that is an error.
type StatusError struct {
	// Host is the host that answered.
	Host string
	// Status is the HTTP status.
	Status int
	// Body is the answer.
	Body []byte
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s answered with status %d", e.Host, e.Status)
}

// LimitedError reports that a host asks for no more requests before a time.
type LimitedError struct {
	// Host is the host.
	Host string
	// Until is the time at which it may be asked again.
	Until time.Time
}

// Error implements error.
func (e *LimitedError) Error() string {
	return fmt.Sprintf("%s allows no more requests until %s", e.Host, e.Until.UTC().Format(time.RFC3339))
}

// Options configure a Client.
type Options struct {
	// UserAgent names the caller, with a contact.
	UserAgent string
	// Clock is nil for the system's.
	Clock *clock.Clock
	// Logger receives a line when a host limits or fails.
	Logger *slog.Logger
	// Metrics registers the client's metrics.
	Metrics prometheus.Registerer
}

// Client asks upstream hosts. It is safe for concurrent use.
type Client struct {
	Options

	http *http.Client
}

// New returns a Client.
func New(o Options) *Client {
	return &Client{Options: o, http: &http.Client{Timeout: time.Minute}}
}

// Pace is how often a host may be asked as long as it states no limit itself.
type Pace struct {
	// Requests is the number of requests in each Per, and Burst how many of them may be
	// sent at once.
	Requests, Burst int
	// Per is above 0.
	Per time.Duration
}

// Host is one upstream host. It is safe for concurrent use.
type Host struct {
	client *Client
	base   *url.URL
	pace   Pace
}

// Host returns the host of an address. Callers of one host share its pace.
func (c *Client) Host(base *url.URL, p Pace) *Host {
	return &Host{client: c, base: base, pace: p}
}

// Request is one request to a host.
type Request struct {
	// Method is GET or POST.
	Method string
	// Path is appended to the address of the host, with the query; it may be empty.
	Path string
	// Header is added to the request; it may have keys.
	Header http.Header
	// Body is nil for GET.
	Body []byte
	// Accepts reports whether an answer with an error status is one that the caller
	// understands: it is then returned without an error and without a retry. Nil accepts
	// none.
	Accepts func(status int, body []byte) bool
}

// Response is an answer.
type Response struct {
	// Status is the HTTP status.
	Status int
	// Header has the answer's headers.
	Header http.Header
	// Body is the whole answer.
	Body []byte
}

// Do sends a request when the host's pace allows it. The error is a [*LimitedError] while
// the host allows none, a [*StatusError] for an answer with an error status, ErrTooLarge,
// or that of the connection.
func (h *Host) Do(ctx context.Context, r Request) (Response, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, h.base.String()+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return Response{}, fmt.Errorf("ask %s: %w", h.base.Host, err)
	}
	for name, values := range r.Header {
		request.Header[name] = values
	}
	request.Header.Set("User-Agent", h.client.UserAgent)
	answer, err := h.client.http.Do(request)
	if err != nil {
		return Response{}, fmt.Errorf("ask %s: %w", h.base.Host, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBodyBytes+1))
	switch {
	case err != nil:
		return Response{}, fmt.Errorf("read the answer of %s: %w", h.base.Host, err)
	case len(body) > maxBodyBytes:
		return Response{}, fmt.Errorf("ask %s: %w", h.base.Host, ErrTooLarge)
	}
	got := Response{Status: answer.StatusCode, Header: answer.Header, Body: body}
	if got.Status < http.StatusBadRequest || r.Accepts != nil && r.Accepts(got.Status, body) {
		return got, nil
	}
	return got, &StatusError{Host: h.base.Host, Status: got.Status, Body: body}
}
