package hub_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow/hub"
	"pnyx/test/env"
	fake "pnyx/test/upstream/hub"
)

func TestAtItsPaceABackfillIsNeverRefused(t *testing.T) {
	t.Parallel()
	now := clock.Stepping(start)
	upstream := fake.New(now)
	upstream.Set(func(s *fake.Switches) { s.Limit = 100 })
	server := httptest.NewServer(upstream)
	defer server.Close()
	address := env.Must(url.Parse(server.URL + "/graphql"))(t)
	host := fetch.New(fetch.Options{UserAgent: "test", Clock: now}).Host(address, hub.Pace(false))
	body := []byte(`{"query":"{spaces{id}}"}`)
	for n := range 300 {
		if _, err := host.Do(t.Context(), fetch.Request{Method: http.MethodPost, Body: body}); err != nil {
			t.Fatalf("request %d after %s: %v", n+1, now.Now().Sub(start), err)
		}
	}
}
