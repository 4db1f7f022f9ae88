package cache_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/governance/query"
	"pnyx/test/env"
)

// A worker asks for the run ids again and again, and a server that never tells them is healthy.
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
	for labels, got := range env.Counts(t, registry, "pnyx_redis_errors_total") {
		env.Want(t, 0, got, "errors of", labels)
	}
}

// TestWaitsForFillsAreNoLatencyOfRedis waits at either end of a queue, as idle and overloaded workers do.
func TestWaitsForFillsAreNoLatencyOfRedis(t *testing.T) {
	t.Parallel()
	store := openEmbedded(t)
	registry := prometheus.NewRegistry()
	store.Instrument(cache.Instruments{Client: "worker", Metrics: registry})
	for _, end := range []cache.QueueEnd{cache.Oldest, cache.Newest} {
		_, err := store.Fills().Dequeue(t.Context(), []query.Kind{query.KindProfile}, end, one, time.Second)
		env.WantError(t, cache.ErrNoFill, err)
	}
	for _, family := range env.Must(registry.Gather())(t) {
		for _, metric := range family.GetMetric() {
			if labels := metric.GetLabel(); family.GetName() == "pnyx_redis_duration_seconds" {
				want := map[bool]uint64{true: 2}[labels[1].GetValue() == "wait"]
				if got := metric.GetHistogram().GetSampleCount(); got != want && labels[1].GetValue() != "connect" {
					t.Errorf("%v: got %d, want %d", labels, got, want)
				}
			}
		}
	}
}
