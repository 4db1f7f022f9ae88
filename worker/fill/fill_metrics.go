package fill

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/governance/query"
	"pnyx/telemetry"
)

// fillMetrics is what an operator sees of fills.
type fillMetrics struct {
	duration *prometheus.HistogramVec
	waited   prometheus.Observer
	queued   prometheus.Gauge
}

func newFillMetrics(registerer prometheus.Registerer) fillMetrics {
	m := fillMetrics{
		duration: telemetry.Register(registerer, prometheus.NewHistogramVec(
			telemetry.Latency("pnyx_fill_duration_seconds", "How long fills take a worker, by kind of page and outcome: made, failed, abandoned."),
			[]string{"kind", "outcome"})),
		waited: telemetry.Register(registerer, prometheus.NewHistogram(
			telemetry.Latency("pnyx_fill_queue_wait_seconds", "How long requests for fills waited in the queue."))),
		queued: telemetry.Register(registerer, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pnyx_fill_queue_length", Help: "Requests for fills that wait for a worker; there is one queue for all.",
		})),
	}
	telemetry.Register(registerer, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "pnyx_fill_queue_bound", Help: "Requests for fills that the queue has room for.",
	}, func() float64 { return cache.MaxQueuedFills }))
	for kind := range builders() {
		m.duration.WithLabelValues(string(kind), "made")
	}
	return m
}

// observe notes a fill that is done. A kind that only newer versions know is other.
func (m fillMetrics) observe(kind query.Kind, outcome string, took time.Duration) {
	if _, known := builders()[kind]; !known {
		kind = "other"
	}
	m.duration.WithLabelValues(string(kind), outcome).Observe(took.Seconds())
}
