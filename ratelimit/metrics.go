package ratelimit

import (
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/telemetry"
)

// decision is what was decided, in words of closed sets. Callers are no labels.
type decision struct {
	plan    Plan
	bucket  Bucket
	outcome string
}

// The outcomes of a decision.
const (
	outcomeAllowed = "allowed"
	outcomeBucket  = "bucket_empty"
	outcomeQuota   = "quota_used_up"
)

// The plans, among labels, of who has none, and of a plan that only newer versions
// know.
const (
	planAnonymous Plan = "anonymous"
	planOther     Plan = "other"
)

// decisions counts decisions.
type decisions map[decision]prometheus.Counter

func newDecisions(registerer prometheus.Registerer) decisions {
	counted := telemetry.Register(registerer, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pnyx_ratelimit_decisions_total",
		Help: "Requests held to a limit, by plan, bucket and outcome: allowed, bucket_empty, quota_used_up.",
	}, []string{"plan", "bucket", "outcome"}))
	all := decisions{}
	add := func(plan Plan, bucket Bucket, outcomes ...string) {
		for _, outcome := range outcomes {
			all[decision{plan, bucket, outcome}] = counted.WithLabelValues(string(plan), string(bucket), outcome)
		}
	}
	for _, plan := range append(Plans(), planOther) {
		for _, bucket := range []Bucket{Standard, Detail} {
			add(plan, bucket, outcomeAllowed, outcomeBucket, outcomeQuota)
		}
	}
	add(planAnonymous, Free, outcomeAllowed, outcomeBucket)
	return all
}

// count counts a decision.
func (d decisions) count(plan Plan, bucket Bucket, outcome string) {
	counter, known := d[decision{plan, bucket, outcome}]
	if !known {
		counter, known = d[decision{planOther, bucket, outcome}]
	}
	if known {
		counter.Inc()
	}
}

// metrics is what an operator sees of the limits.
type metrics struct {
	decisions decisions
	fallbacks prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, l *Limiter) metrics {
	m := metrics{
		decisions: newDecisions(registerer),
		fallbacks: telemetry.Register(registerer, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_ratelimit_fallbacks_total", Help: "Requests that were limited by this process alone, since Redis did not answer.",
		})),
	}
	telemetry.Register(registerer, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "pnyx_ratelimit_alone", Help: "1 while Redis does not answer and limits are kept by this process alone.",
	}, func() float64 {
		if l.restUntil.Load() != 0 {
			return 1
		}
		return 0
	}))
	return m
}

// observe counts what was decided.
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
