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

// decisions counts by plan, bucket and outcome. Callers are not labels: their number is not bounded.
type decisions struct{ counted *prometheus.CounterVec }

func newDecisions(registerer prometheus.Registerer) decisions {
	counted := telemetry.Counters(registerer, "pnyx_ratelimit_decisions_total",
		"Rate limit decisions, by plan, bucket and outcome: allowed, bucket_empty, quota_used_up.", "plan", "bucket", "outcome")
	add := func(plan Plan, buckets []Bucket, outcomes ...string) {
		for _, bucket := range buckets {
			for _, outcome := range outcomes {
				counted.WithLabelValues(string(plan), string(bucket), outcome)
			}
		}
	}
	for _, plan := range append(Plans(), planOther) {
		add(plan, []Bucket{Standard, Detail}, outcomeAllowed, outcomeBucket, outcomeQuota)
	}
	add(planAnonymous, []Bucket{Free, Payment, ContractPayment}, outcomeAllowed, outcomeBucket)
	return decisions{counted}
}

// count counts a decision. A plan that only newer versions know counts as planOther.
func (d decisions) count(plan Plan, bucket Bucket, outcome string) {
	if plan != planAnonymous && !slices.Contains(Plans(), plan) {
		plan = planOther
	}
	d.counted.WithLabelValues(string(plan), string(bucket), outcome).Inc()
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
	m.decisions.count(g.Request.Plan, g.Request.Bucket, outcome)
}
