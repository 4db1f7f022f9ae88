package ratelimit_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"pnyx/cache"
	"pnyx/ratelimit"
	"pnyx/test/env"
)

// soon is how long anything in these tests may take. Nothing waits for it when all is well.
const soon = time.Minute

// noon is when stories begin.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	env.QuietRedis()
	goleak.VerifyTestMain(m, env.RedisLeftover())
}

// newLimiter returns a limiter on a Redis, which it waits for no longer than a timeout.
func newLimiter(t *testing.T, redisURL string, timeout time.Duration, perProcess bool) *ratelimit.Limiter {
	t.Helper()
	pipeline := env.Must(cache.OpenPipeline(redisURL, timeout))(t)
	t.Cleanup(func() { pipeline.Close() })
	return ratelimit.New(ratelimit.Options{
		Pipeline: pipeline, PerProcess: perProcess,
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
}
