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
		payments: telemetry.Counters(registerer, "pnyx_payments_total", "Payments submitted for settlement, by resulting state.", "state"),
		replays:  telemetry.Counter(registerer, "pnyx_payment_replays_total", "Requests with a payment that was already settled."),
		requests: telemetry.Histograms(registerer, telemetry.Latency("pnyx_facilitator_duration_seconds",
			"Duration of calls of the facilitator, by call and outcome."), "call", "outcome"),
	}
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
