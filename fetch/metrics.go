package fetch

import (
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/telemetry"
)

// The outcomes of a request.
const (
	outcomeOK         = "ok"
	outcomeStatus     = "status"     // an error status
	outcomeLimited    = "limited"    // the host refused it, because there were too many
	outcomeRefused    = "refused"    // not sent, for the same reason or after failures
	outcomeConnection = "connection" // no complete answer
	outcomeTooLarge   = "too_large"
	outcomeCanceled   = "canceled"
)

// metrics are the metrics of all clients of a process; the sources file bounds the number of hosts.
type metrics struct {
	requests  *prometheus.CounterVec
	remaining *prometheus.GaugeVec
	seconds   *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer) metrics {
	return metrics{
		requests: telemetry.Counters(registerer, "pnyx_follow_requests_total",
			"Requests to upstream hosts, by host and outcome: ok, status, limited, refused, connection, too_large, canceled.", "host", "outcome"),
		remaining: telemetry.Gauges(registerer, "pnyx_follow_requests_remaining",
			"Requests that the upstream host still allows in its present window, as it last stated.", "host"),
		seconds: telemetry.Histograms(registerer, telemetry.Latency("pnyx_follow_request_seconds",
			"Duration of one request to an upstream host."), "host"),
	}
}

func (h *Host) count(outcome string) {
	h.client.metrics.requests.WithLabelValues(h.base.Host, outcome).Inc()
}
