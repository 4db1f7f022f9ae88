package fill

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/governance/query"
	"pnyx/telemetry"
)

type fillMetrics struct {
	duration *prometheus.HistogramVec
	waited   prometheus.Observer
	queued   prometheus.Gauge
	// kinds has the kinds of pages that this version knows: the values of a label.
	kinds map[query.Kind]kindOfPage
}

func newFillMetrics(registerer prometheus.Registerer, kinds map[query.Kind]kindOfPage) fillMetrics {
	m := fillMetrics{
		kinds: kinds,
		duration: telemetry.Histograms(registerer, telemetry.Latency("pnyx_fill_duration_seconds",
			"Duration of a fill, by kind of page and outcome: made, stored, failed, abandoned."), "kind", "outcome"),
		waited: telemetry.Histogram(registerer, telemetry.Latency("pnyx_fill_queue_wait_seconds", "Time that requests for pages waited in the fill queue.")),
		queued: telemetry.Gauge(registerer, "pnyx_fill_queue_length",
			"Requests in the longest fill queue. Each kind of page has one, which all workers share."),
	}
	telemetry.GaugeFunc(registerer, "pnyx_fill_queue_bound",
		"Requests that the fill queue of a kind can hold.", func() float64 { return cache.MaxQueuedFills })
	for kind := range kinds {
		m.duration.WithLabelValues(string(kind), "made")
	}
	return m
}

// observe counts a fill. A kind that only a newer version knows is counted as other.
func (m fillMetrics) observe(kind query.Kind, outcome string, took time.Duration) {
	if _, known := m.kinds[kind]; !known {
		kind = "other"
	}
	m.duration.WithLabelValues(string(kind), outcome).Observe(took.Seconds())
}
