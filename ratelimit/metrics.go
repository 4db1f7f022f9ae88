package ratelimit

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/telemetry"
)

const (
	outcomeAllowed = "allowed"
	outcomeBucket  = "bucket_empty"
	outcomeQuota   = "quota_used_up"
)

// Values of the label plan for a caller without a plan, and for a plan of newer versions.
const (
	planAnonymous Plan = "anonymous"
	planOther     Plan = "other"
)

// decisions counts decisions. Callers are not labels: their number is not bounded.
type decisions struct{ *prometheus.CounterVec }

// newDecisions returns counters that are zero, so that they are shown before the first decision.
func newDecisions(registerer prometheus.Registerer) decisions {
	d := decisions{telemetry.Counters(registerer, "pnyx_ratelimit_decisions_total",
		"Rate limit decisions, by plan, bucket and outcome: allowed, bucket_empty, quota_used_up.", "plan", "bucket", "outcome")}
	for _, outcome := range []string{outcomeAllowed, outcomeBucket} {
		for _, bucket := range []Bucket{Free, Payment, ContractPayment} {
			d.of(planAnonymous, bucket, outcome)
		}
	}
	for _, plan := range append(Plans(), planOther) {
		for _, bucket := range []Bucket{Standard, Detail} {
			for _, outcome := range []string{outcomeAllowed, outcomeBucket, outcomeQuota} {
				d.of(plan, bucket, outcome)
			}
		}
	}
	return d
}

func (d decisions) of(plan Plan, bucket Bucket, outcome string) prometheus.Counter {
	if plan != planAnonymous && !slices.Contains(Plans(), plan) {
		plan = planOther
	}
	return d.WithLabelValues(string(plan), string(bucket), outcome)
}

type metrics struct {
	decisions decisions
	fallbacks prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, l *Limiter) metrics {
	m := metrics{
		decisions: newDecisions(registerer),
		fallbacks: telemetry.Counter(registerer, "pnyx_ratelimit_fallbacks_total",
			"Requests limited by in-process buckets because Redis was unavailable."),
	}
	telemetry.GaugeFunc(registerer, "pnyx_ratelimit_alone",
		"1 while Redis is unavailable and this process uses in-process buckets.", func() float64 {
			if l.retryAt.Load() != 0 {
				return 1
			}
			return 0
		})
	return m
}

func (m metrics) observe(g Grant) {
	outcome := outcomeAllowed
	switch {
	case !g.Decision.Allowed:
		outcome = outcomeBucket
	case g.Quota.Refused:
		outcome = outcomeQuota
	}
	m.decisions.of(g.Request.Plan, g.Request.Bucket, outcome).Inc()
}
