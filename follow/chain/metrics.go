package chain

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/telemetry"
)

type metrics struct {
	reorgs   prometheus.Observer
	gaps     prometheus.Counter
	span     prometheus.Gauge
	requests *prometheus.CounterVec
}

// newMetrics registers metrics: the chain of a sources file that was read again goes on with the
// metrics of the one before.
func newMetrics(o Options) *metrics {
	chain := strconv.FormatUint(o.ChainID, 10)
	return &metrics{
		reorgs: telemetry.Histograms(o.Metrics, prometheus.HistogramOpts{
			Name: "pnyx_follow_chain_reorganization_blocks", Help: "Reorganizations by the number of blocks that were replaced.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64},
		}, "chain").WithLabelValues(chain),
		gaps:     telemetry.Counters(o.Metrics, "pnyx_follow_chain_gaps_total", "Logs missing from the first read of their block.", "chain").WithLabelValues(chain),
		span:     telemetry.Gauges(o.Metrics, "pnyx_follow_chain_range_blocks", "Blocks that the last eth_getLogs asked for.", "chain").WithLabelValues(chain),
		requests: telemetry.Counters(o.Metrics, "pnyx_follow_chain_calls_total", "JSON-RPC calls by method.", "chain", "method").MustCurryWith(prometheus.Labels{"chain": chain}),
	}
}
