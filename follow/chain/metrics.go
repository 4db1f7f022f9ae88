package chain

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are those of one chain.
type metrics struct {
	reorgs   prometheus.Histogram
	gaps     prometheus.Counter
	span     prometheus.Gauge
	requests *prometheus.CounterVec
}

func newMetrics(o Options) *metrics {
	labels := prometheus.Labels{"chain": strconv.FormatUint(o.ChainID, 10)}
	register := promauto.With(o.Metrics)
	return &metrics{
		reorgs: register.NewHistogram(prometheus.HistogramOpts{
			Name: "pnyx_follow_chain_reorganization_blocks", Help: "Reorganizations by the number of blocks that were replaced.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64}, ConstLabels: labels,
		}),
		gaps: register.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_follow_chain_gaps_total", Help: "Logs that the first look at their blocks missed.", ConstLabels: labels,
		}),
		span: register.NewGauge(prometheus.GaugeOpts{
			Name: "pnyx_follow_chain_range_blocks", Help: "Blocks that the last eth_getLogs asked for.", ConstLabels: labels,
		}),
		requests: register.NewCounterVec(prometheus.CounterOpts{
			Name: "pnyx_follow_chain_calls_total", Help: "JSON-RPC calls by method.", ConstLabels: labels,
		}, []string{"method"}),
	}
}

func (m *metrics) request(method string) { m.requests.WithLabelValues(method).Inc() }
