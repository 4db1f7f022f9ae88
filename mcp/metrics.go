package mcp

import (
	"cmp"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/api/apierror"
	"pnyx/telemetry"
)

// outcomeOK is the outcome of a call that is answered with data; another call's is the
// code of its error.
const outcomeOK = "ok"

// metrics are the metrics of the tools. Labels are names of tools and codes of errors.
type metrics struct {
	calls     *prometheus.CounterVec
	durations *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer, tools []*tool) *metrics {
	m := &metrics{
		calls: telemetry.Counters(registerer, "pnyx_mcp_calls_total",
			"Calls of tools, by tool and outcome: ok, or the code of the error.", "tool", "outcome"),
		durations: telemetry.Histograms(registerer, telemetry.Latency("pnyx_mcp_call_duration_seconds",
			"Time to answer a call of a tool, by tool."), "tool"),
	}
	for _, t := range tools { // all tools are there from the start
		m.calls.WithLabelValues(t.Name, outcomeOK)
		m.durations.WithLabelValues(t.Name)
	}
	return m
}

// count counts a call, with the code of its error; empty for none.
func (m *metrics) count(tool string, code apierror.Code, took time.Duration) {
	m.calls.WithLabelValues(tool, cmp.Or(string(code), outcomeOK)).Inc()
	m.durations.WithLabelValues(tool).Observe(took.Seconds())
}
