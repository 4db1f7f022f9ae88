package mcp

import (
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
	calls *prometheus.CounterVec
	// answered are the calls with outcomeOK, and durations the durations of all calls, by tool.
	answered  map[string]prometheus.Counter
	durations map[string]prometheus.Observer
}

func newMetrics(registerer prometheus.Registerer, tools []*tool) *metrics {
	m := &metrics{
		calls: telemetry.Counters(registerer, "pnyx_mcp_calls_total",
			"Calls of tools, by tool and outcome: ok, or the code of the error.", "tool", "outcome"),
		answered: map[string]prometheus.Counter{}, durations: map[string]prometheus.Observer{},
	}
	durations := telemetry.Histograms(registerer, telemetry.Latency("pnyx_mcp_call_duration_seconds",
		"Time to answer a call of a tool, by tool."), "tool")
	for _, t := range tools {
		m.answered[t.Name] = m.calls.WithLabelValues(t.Name, outcomeOK)
		m.durations[t.Name] = durations.WithLabelValues(t.Name)
	}
	return m
}

// count counts a call, with the code of its error; empty for none.
func (m *metrics) count(tool string, code apierror.Code, took time.Duration) {
	if code == "" {
		m.answered[tool].Inc()
	} else {
		m.calls.WithLabelValues(tool, string(code)).Inc()
	}
	m.durations[tool].Observe(took.Seconds())
}
