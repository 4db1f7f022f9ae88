package ratelimit

import (
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

// decision holds the labels of a decision. Callers are not labels: their number is not bounded.
type decision struct {
	plan    Plan
	bucket  Bucket
	outcome string
}

// decisions holds a counter for each combination of labels, so that no request looks one up by its texts.
type decisions map[decision]prometheus.Counter

func newDecisions(registerer prometheus.Registerer) decisions {
	counted := telemetry.Counters(registerer, "pnyx_ratelimit_decisions_total",
		"Rate limit decisions, by plan, bucket and outcome: allowed, bucket_empty, quota_used_up.", "plan", "bucket", "outcome")
	all := decisions{}
	add := func(plan Plan, buckets []Bucket, outcomes ...string) {
		for _, bucket := range buckets {
			for _, outcome := range outcomes {
				all[decision{plan, bucket, outcome}] = counted.WithLabelValues(string(plan), string(bucket), outcome)
			}
		}
	}
	for _, plan := range append(Plans(), planOther) {
		add(plan, []Bucket{Standard, Detail}, outcomeAllowed, outcomeBucket, outcomeQuota)
	}
	add(planAnonymous, []Bucket{Free, Payment, ContractPayment}, outcomeAllowed, outcomeBucket)
	return all
}

// count counts a decision. A plan that only newer versions know counts as planOther.
func (d decisions) count(plan Plan, bucket Bucket, outcome string) {
	counter, known := d[decision{plan, bucket, outcome}]
	if !known {
		counter, known = d[decision{planOther, bucket, outcome}]
	}
	if known {
		counter.Inc()
	}
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
