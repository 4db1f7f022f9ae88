package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// maxAttempts bounds how often a request is sent.
	maxAttempts = 4
	// minRetryPause is the longest pause before the second attempt. It doubles each time.
	minRetryPause = 250 * time.Millisecond
)

// Host is one upstream host. It is safe for concurrent use.
type Host struct {
	client  *Client
	base    *url.URL
	gate    *gate
	breaker breaker
}

// Name returns the host name, without keys, for messages.
func (h *Host) Name() string { return h.base.Host }

// Interval is the time between two requests at the host's present pace.
func (h *Host) Interval() time.Duration {
	return time.Duration(float64(time.Second) / float64(h.gate.pace.Limit()))
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
	// Accepts reports whether the caller understands an answer with an error status. Such an answer is returned
	// without an error or a retry. Nil accepts none.
	Accepts func(status int, body []byte) bool
	// Limit returns what an answer of any status says of a limit on requests; empty for nothing. It counts as 429.
	Limit func(body []byte) string
	// Trouble returns what an answer of any status says of the host's trouble, which is an error; empty for nothing.
	Trouble func(body []byte) string
}

// Response is an answer. One to If-None-Match or If-Modified-Since may have status 304 and no body.
type Response struct {
	Status int
	// Header has the answer's headers.
	Header http.Header
	// Path is the path of the address that answered, after redirects.
	Path string
	// Body is the whole answer, not compressed.
	Body []byte
}

// Do sends a request when the host's pace allows it, and again after a failure that may pass at once: connection
// errors, and status 502, 503 and 504. These, all other statuses from 500 on, and stated trouble are failures of the
// host, which rests after several in a row. The error is a [*LimitedError] while the host allows no requests, an
// [*UnavailableError] after repeated failures, a [*StatusError] for an answer with an error status, ErrTooLarge, or
// the connection's.
func (h *Host) Do(ctx context.Context, r Request) (Response, error) {
	now := h.client.Clock.Now()
	if until, last := h.breaker.refuses(now); last != nil {
		h.count(outcomeRefused)
		return Response{}, &UnavailableError{Host: h.base.Host, Until: until, Last: last}
	}
	for attempt, pause := 1, minRetryPause; ; attempt, pause = attempt+1, 2*pause {
		answer, err := h.once(ctx, r)
		again := isTransient(err) && ctx.Err() == nil
		if again && attempt < maxAttempts {
			if waitErr := h.client.Clock.Wait(ctx, rand.N(pause)+1); waitErr == nil { //nolint:gosec // no secret
				continue
			}
		}
		h.settle(ctx, err)
		return answer, err
	}
}

func (h *Host) settle(ctx context.Context, err error) {
	_, limited := errors.AsType[*LimitedError](err)
	switch {
	case ctx.Err() != nil, limited: // which says nothing about the host's health
		h.breaker.release()
	case isFailure(err):
		if until, opened := h.breaker.fail(h.client.Clock.Now(), err); opened {
			h.client.Logger.LogAttrs(ctx, slog.LevelWarn, "upstream host fails, asking it less often",
				slog.String("host", h.base.Host), slog.Time("until", until), slog.Any("error", err))
		}
	default:
		h.breaker.succeed()
	}
}

// isTransient reports whether the same request may succeed a moment later.
func isTransient(err error) bool {
	if answered, ok := errors.AsType[*StatusError](err); ok {
		return slices.Contains([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, answered.Status)
	}
	_, lost := errors.AsType[*connectionError](err)
	return lost && !errors.Is(err, errRedirected)
}

func isFailure(err error) bool {
	if answered, ok := errors.AsType[*StatusError](err); ok && (answered.Status >= http.StatusInternalServerError || answered.Said != "") {
		return true
	}
	return isTransient(err)
}

func (h *Host) once(ctx context.Context, r Request) (Response, error) {
	if err := h.gate.pass(ctx); err != nil {
		h.count(outcomeRefused)
		return Response{}, err
	}
	began := time.Now()
	answer, err := h.send(ctx, r)
	h.client.metrics.seconds.WithLabelValues(h.base.Host).Observe(time.Since(began).Seconds())
	if err != nil {
		h.count(outcomeOf(ctx, err))
		return Response{}, err
	}
	said := ""
	if r.Trouble != nil {
		said = r.Trouble(answer.Body)
	}
	limit := ""
	if r.Limit != nil {
		limit = r.Limit(answer.Body)
	}
	accepted := said == "" && limit == "" && (answer.Status < http.StatusBadRequest || r.Accepts != nil && r.Accepts(answer.Status, answer.Body))
	limited := h.gate.note(ctx, answer, accepted, limit)
	switch {
	case accepted:
		h.count(outcomeOK)
		return answer, nil
	case limited != nil:
		h.count(outcomeLimited)
		return answer, limited
	}
	h.count(outcomeStatus)
	return answer, &StatusError{Host: h.base.Host, Status: answer.Status, Said: said}
}

func (h *Host) send(ctx context.Context, r Request) (Response, error) {
	ctx = context.WithValue(ctx, configuredHost{}, h.base.Host)
	request, err := http.NewRequestWithContext(ctx, r.Method, h.address(r.Path), bytes.NewReader(r.Body))
	if err != nil {
		return Response{}, fmt.Errorf("ask %s: the path is no part of an address", h.base.Host)
	}
	maps.Copy(request.Header, r.Header)
	request.Header.Set("User-Agent", h.client.UserAgent)
	answer, err := h.client.http.Do(request)
	if err != nil {
		return Response{}, h.connectionError("ask", err, request)
	}
	defer answer.Body.Close()
	body, err := h.read(ctx, answer.Body)
	switch {
	case errors.Is(err, ErrTooLarge):
		return Response{}, fmt.Errorf("ask %s: %w", h.base.Host, err)
	case err != nil:
		return Response{}, h.connectionError("read the answer of", err, request)
	}
	return Response{Status: answer.StatusCode, Header: answer.Header, Path: answer.Request.URL.Path, Body: body}, nil
}

// read reads an answer of up to maxBodyBytes. The transport has decompressed it, so that this bounds what a small
// one unfolds to. A large answer waits for a place, as long as the time of its request allows: several at once
// would take the memory of the process.
func (h *Host) read(ctx context.Context, from io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(from, freeBodyBytes))
	if err != nil || len(body) < freeBodyBytes {
		return body, err
	}
	wait, cancel := context.WithTimeout(ctx, h.client.http.Timeout)
	defer cancel()
	for _, places := range []chan struct{}{h.gate.large, h.client.large} {
		select {
		case <-wait.Done():
			return nil, wait.Err()
		case places <- struct{}{}:
			defer func() { <-places }()
		}
	}
	rest, err := io.ReadAll(io.LimitReader(from, maxBodyBytes+1-freeBodyBytes))
	if err == nil && len(body)+len(rest) > maxBodyBytes {
		return nil, ErrTooLarge
	}
	return append(body, rest...), err
}

// address returns the address of a path, with the parameters of both.
func (h *Host) address(path string) string {
	base := *h.base
	path, query, _ := strings.Cut(path, "?")
	parameters := strings.Trim(base.RawQuery+"&"+query, "&")
	base.RawQuery = ""
	address := base.String()
	if strings.HasPrefix(path, "/") {
		address = strings.TrimSuffix(address, "/")
	}
	if address += path; parameters != "" {
		address += "?" + parameters
	}
	return address
}

// connectionError is a request without a complete answer.
type connectionError struct {
	text  string
	cause error
}

// Error implements error.
func (e *connectionError) Error() string { return e.text }

// Unwrap returns the cause, whose own text may contain keys.
func (e *connectionError) Unwrap() error { return e.cause }

// connectionError describes an error without the address and headers of the request, in which keys may be.
func (h *Host) connectionError(operation string, err error, request *http.Request) error {
	cause := err
	if inner, ok := errors.AsType[*url.Error](err); ok {
		cause = inner.Err
	}
	text := cause.Error()
	secrets := []string{request.URL.RequestURI(), request.URL.Path, request.URL.RawQuery}
	secrets = append(secrets, strings.Split(request.URL.Path, "/")...)
	for _, values := range request.URL.Query() {
		secrets = append(secrets, values...)
	}
	for _, values := range request.Header {
		secrets = append(secrets, values...)
	}
	if request.URL.User != nil {
		password, _ := request.URL.User.Password()
		secrets = append(secrets, password, request.URL.User.Username())
	}
	for _, secret := range secrets {
		if len(secret) >= minSecretBytes {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return &connectionError{text: fmt.Sprintf("%s %s: %s", operation, h.base.Host, text), cause: cause}
}

// minSecretBytes is the length from which on a part of an address is left out of errors: shorter ones are no keys,
// and occur in other words.
const minSecretBytes = 6
