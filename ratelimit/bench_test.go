package ratelimit_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/ratelimit"
	"pnyx/test/env"
)

// BenchmarkTake compares bucket and month together with a bare Allow of redis_rate,
// both through an auto-pipeliner, for many callers at once.
func BenchmarkTake(b *testing.B) {
	server := env.Redis(b)
	const wide = 1_000_000
	b.Run("bare", func(b *testing.B) {
		client := env.RedisClient(b, server.URL)
		pipeliner, err := client.AutoPipelineWithOptions(redis.DefaultBlockingAutoPipelineOptions())
		if err != nil {
			b.Fatal(err)
		}
		defer pipeliner.Close()
		bare := redis_rate.NewLimiter(pipeliner)
		b.SetParallelism(32)
		b.RunParallel(func(loop *testing.PB) {
			for loop.Next() {
				if _, err := bare.Allow(b.Context(), "bare", redis_rate.Limit{Rate: wide, Burst: wide, Period: time.Minute}); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("ours", func(b *testing.B) {
		pipeline, err := cache.OpenPipeline(server.URL, soon)
		if err != nil {
			b.Fatal(err)
		}
		defer pipeline.Close()
		limiter := ratelimit.New(ratelimit.Options{
			Pipeline: pipeline, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		})
		rate := ratelimit.Rate{PerMinute: wide, Burst: wide}
		r := ratelimit.Request{
			Caller: fmt.Sprint("ours", b.N), Bucket: ratelimit.Detail,
			Limits: ratelimit.Limits{Month: 1 << 40, Standard: rate, Detail: rate},
		}
		b.SetParallelism(32)
		b.RunParallel(func(loop *testing.PB) {
			for loop.Next() {
				limiter.Take(b.Context(), r, noon)
			}
		})
	})
}
