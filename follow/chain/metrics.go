package chain

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/telemetry"
)

// metrics are the metrics of one chain.
type metrics struct {
	reorgs   prometheus.Histogram
	gaps     prometheus.Counter
	span     prometheus.Gauge
	requests *prometheus.CounterVec
}

// newMetrics registers metrics: the chain of a sources file that was read again goes on with the
// metrics of the one before.
func newMetrics(o Options) *metrics {
	labels := prometheus.Labels{"chain": strconv.FormatUint(o.ChainID, 10)}
	return &metrics{
		reorgs: telemetry.Register(o.Metrics, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pnyx_follow_chain_reorganization_blocks", Help: "Reorganizations by the number of blocks that were replaced.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64}, ConstLabels: labels,
		})),
		gaps: telemetry.Register(o.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_follow_chain_gaps_total", Help: "Logs missing from the first read of their block.", ConstLabels: labels,
		})),
		span: telemetry.Register(o.Metrics, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pnyx_follow_chain_range_blocks", Help: "Blocks that the last eth_getLogs asked for.", ConstLabels: labels,
		})),
		requests: telemetry.Register(o.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pnyx_follow_chain_calls_total", Help: "JSON-RPC calls by method.", ConstLabels: labels,
		}, []string{"method"})),
	}
}

func (m *metrics) request(method string) { m.requests.WithLabelValues(method).Inc() }
