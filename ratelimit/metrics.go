package ratelimit

import "github.com/prometheus/client_golang/prometheus"

// metrics is what an operator sees of the limits. Callers are no labels.
type metrics struct {
	fallbacks prometheus.Counter
	refused   *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer, l *Limiter) metrics {
	m := metrics{
		fallbacks: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_ratelimit_fallbacks_total", Help: "Requests that were limited by this process alone, since Redis did not answer.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pnyx_ratelimit_refused_total", Help: "Requests beyond a limit, by bucket, or month.",
		}, []string{"limit"}),
	}
	alone := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "pnyx_ratelimit_alone", Help: "1 while Redis does not answer and limits are kept by this process alone.",
	}, func() float64 {
		if l.restUntil.Load() != 0 {
			return 1
		}
		return 0
	})
	registerer.MustRegister(m.fallbacks, m.refused, alone)
	return m
}

// observe counts what was refused.
func (m metrics) observe(g Grant) {
	if g.Quota.Refused {
		m.refused.WithLabelValues("month").Inc()
	}
	if !g.Decision.Allowed {
		m.refused.WithLabelValues(string(g.Request.Bucket)).Inc()
	}
}
