package chain

import (
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the metrics of one chain.
type metrics struct {
	reorgs   prometheus.Histogram
	gaps     prometheus.Counter
	span     prometheus.Gauge
	requests *prometheus.CounterVec
}

func newMetrics(o Options) *metrics {
	labels := prometheus.Labels{"chain": strconv.FormatUint(o.ChainID, 10)}
	return &metrics{
		reorgs: registered(o.Metrics, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pnyx_follow_chain_reorganization_blocks", Help: "Reorganizations by the number of blocks that were replaced.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64}, ConstLabels: labels,
		})),
		gaps: registered(o.Metrics, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_follow_chain_gaps_total", Help: "Logs missing from the first read of their block.", ConstLabels: labels,
		})),
		span: registered(o.Metrics, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pnyx_follow_chain_range_blocks", Help: "Blocks that the last eth_getLogs asked for.", ConstLabels: labels,
		})),
		requests: registered(o.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pnyx_follow_chain_calls_total", Help: "JSON-RPC calls by method.", ConstLabels: labels,
		}, []string{"method"})),
	}
}

// registered registers a metric; the chain of a sources file that was read again goes on with
// the metric of the one before.
func registered[C prometheus.Collector](r prometheus.Registerer, metric C) C {
	if r == nil {
		return metric
	}
	if again, ok := errors.AsType[prometheus.AlreadyRegisteredError](r.Register(metric)); ok {
		if before, ok := again.ExistingCollector.(C); ok {
			return before
		}
	}
	return metric
}

func (m *metrics) request(method string) { m.requests.WithLabelValues(method).Inc() }
