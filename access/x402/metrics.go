package x402

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/governance"
	"pnyx/telemetry"
)

type metrics struct {
	payments *prometheus.CounterVec
	replays  prometheus.Counter
	requests *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer) metrics {
	m := metrics{
		payments: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pnyx_payments_total", Help: "Payments submitted for settlement, by resulting state.",
		}, []string{"state"}),
		replays: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_payment_replays_total", Help: "Requests with a payment that was already settled.",
		}),
		requests: prometheus.NewHistogramVec(
			telemetry.Latency("pnyx_facilitator_duration_seconds", "Duration of calls of the facilitator, by call and outcome."),
			[]string{"call", "outcome"}),
	}
	registerer.MustRegister(m.payments, m.replays, m.requests)
	for _, state := range governance.PaymentStates() {
		m.payments.WithLabelValues(string(state))
	}
	return m
}

func (m metrics) observe(call string, began time.Time, err error) {
	outcome := "answered"
	switch {
	case errors.Is(err, errNotSent):
		outcome = "unreachable"
	case err != nil:
		outcome = "unanswered"
	}
	m.requests.WithLabelValues(call, outcome).Observe(time.Since(began).Seconds())
}
