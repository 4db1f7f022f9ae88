package cache_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/test/env"
)

// TestARedisThatDeniesINFOCountsNoErrors holds what the alert PnyxRedisErrors counts: a
// worker asks for the run ids again and again, and a server that never tells them is healthy.
func TestARedisThatDeniesINFOCountsNoErrors(t *testing.T) {
	t.Parallel()
	t.Run("the embedded server", func(t *testing.T) {
		t.Parallel()
		wantNoErrors(t, env.EmbeddedRedis(t))
	})
	t.Run("a user without the permission", func(t *testing.T) {
		t.Parallel()
		server := env.Redis(t)
		env.MustDo(t, env.RedisClient(t, server.URL).Do(t.Context(), "ACL", "SETUSER", "default", "-info").Err())
		wantNoErrors(t, server.URL)
	})
}

// wantNoErrors asks a server for what it denies, and wants no error in the metrics.
func wantNoErrors(t *testing.T, url string) {
	t.Helper()
	store := env.Store(t, url)
	registry := prometheus.NewRegistry()
	store.Instrument(cache.Instruments{Client: "worker", Metrics: registry})
	env.Must(store.Standing(t.Context()))(t)
	families := env.Must(registry.Gather())(t)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if got := metric.GetCounter().GetValue(); family.GetName() == "pnyx_redis_errors_total" && got != 0 {
				t.Errorf("got %v errors of %v, want none", got, metric.GetLabel())
			}
		}
	}
}
