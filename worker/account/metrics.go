package account

import "github.com/prometheus/client_golang/prometheus"

// accountMetrics is what an operator sees of tokens and usage.
type accountMetrics struct {
	drained prometheus.Counter
	errors  prometheus.Counter
}

func newAccountMetrics(registerer prometheus.Registerer) accountMetrics {
	m := accountMetrics{
		drained: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_usage_counts_total", Help: "Counts of usage that were moved to the warehouse.",
		}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_accounts_errors_total", Help: "Times that tokens could not be published or usage not be moved.",
		}),
	}
	registerer.MustRegister(m.drained, m.errors)
	return m
}
