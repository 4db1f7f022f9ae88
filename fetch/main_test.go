package fetch_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/test/check"
)

func start() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }

type fixture struct {
	clock   *clock.Clock
	client  *fetch.Client
	host    *fetch.Host
	server  *httptest.Server
	metrics *prometheus.Registry
}

// serve starts a server and a client whose waits take no time. The address of the host is
// the server's with a suffix.
func serve(t *testing.T, suffix string, handler http.HandlerFunc) fixture {
	t.Helper()
	f := fixture{clock: clock.Stepping(start()), server: httptest.NewServer(handler), metrics: prometheus.NewRegistry()}
	t.Cleanup(f.server.Close)
	f.client = fetch.New(fetch.Options{UserAgent: "pnyx (ops@example.org)", Clock: f.clock, Metrics: f.metrics})
	f.host = f.at(t, f.server.URL+suffix)
	return f
}

func (f fixture) at(t *testing.T, address string) *fetch.Host {
	t.Helper()
	base := check.Must(url.Parse(address))(t)
	return f.client.Host(base, fetch.Pace{Requests: 1000, Per: time.Second, Burst: 1000})
}

func (f fixture) get(ctx context.Context) (fetch.Response, error) {
	return f.host.Do(ctx, fetch.Request{Method: http.MethodGet})
}
