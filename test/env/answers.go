package env

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"pnyx/clock"
	"pnyx/fetch"
)

// Answers is an upstream host that answers the same to all requests, without a network.
type Answers struct {
	Body []byte
}

// RoundTrip implements http.RoundTripper.
func (a *Answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(bytes.NewReader(a.Body)),
	}, nil
}

// Host returns the host, which is asked without pauses.
func (a *Answers) Host(tb testing.TB) *fetch.Host {
	tb.Helper()
	address := Must(url.Parse("https://upstream.example.org/"))(tb)
	client := fetch.New(fetch.Options{UserAgent: "test", Transport: a, Clock: clock.Stepping(time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC))})
	return client.Host(address, fetch.Pace{Requests: 1_000_000, Burst: 1000, Per: time.Second})
}
