package api

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics is what an operator sees of an API node. Routes are labelled by their
// pattern, so that the number of series is bounded.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	misses   prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) metrics {
	m := metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pnyx_http_requests_total", Help: "Requests answered, by route and status.",
		}, []string{"route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pnyx_http_request_duration_seconds", Help: "How long answers take, by route.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2.5, 12),
		}, []string{"route"}),
		misses: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_cache_misses_total", Help: "Views that were not in Redis.",
		}),
	}
	registerer.MustRegister(m.requests, m.duration, m.misses)
	return m
}

// observe counts every request after it is answered.
func (a *API) observe(c *fiber.Ctx) error {
	began := time.Now()
	err := c.Next()
	if err != nil {
		// Answered here, so that the status is known when it is counted.
		if err := a.writeError(c, err); err != nil {
			return err
		}
	}
	a.settle(c)
	took := time.Since(began)
	setTiming(c, took)
	route := c.Route().Path
	if c.Response().StatusCode() == fiber.StatusNotFound && route == "/" {
		route = "none"
	}
	a.metrics.requests.WithLabelValues(route, strconv.Itoa(c.Response().StatusCode())).Inc()
	a.metrics.duration.WithLabelValues(route).Observe(took.Seconds())
	return nil
}
