package api

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/telemetry"
)

// outcome is what became of a fill that a node has asked for.
type outcome string

// The outcomes.
const (
	outcomeMade outcome = "made"
	// outcomeShed is a fill that the queue had no room for.
	outcomeShed outcome = "shed"
	// outcomeUnreachable is one that could not be asked for.
	outcomeUnreachable outcome = "unreachable"
	outcomeFailed      outcome = "failed"
	// outcomeLate is one that nobody could wait for any longer.
	outcomeLate outcome = "late"
)

func outcomes() []outcome {
	return []outcome{outcomeMade, outcomeShed, outcomeUnreachable, outcomeFailed, outcomeLate}
}

func fillOutcome(err error) outcome {
	switch {
	case err == nil:
		return outcomeMade
	case errors.Is(err, cache.ErrQueueFull):
		return outcomeShed
	case errors.Is(err, errFillFailed):
		return outcomeFailed
	case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, cache.ErrUnavailable):
		return outcomeLate
	}
	return outcomeUnreachable
}

// pageRead is a page that was looked for, and what was found: fresh, stale or miss.
type pageRead struct {
	kind  cache.PageKind
	found string
}

// pageMetrics is what an operator sees of pages that are made on demand.
type pageMetrics struct {
	reads   map[pageRead]prometheus.Counter
	waiters prometheus.Gauge
	waits   map[outcome]prometheus.Observer
}

func newPageMetrics(registerer prometheus.Registerer) pageMetrics {
	m := pageMetrics{
		reads: map[pageRead]prometheus.Counter{}, waits: map[outcome]prometheus.Observer{},
		waiters: telemetry.Register(registerer, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pnyx_fill_waiters", Help: "Requests to this node that wait for a fill.",
		})),
	}
	reads := telemetry.Register(registerer, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pnyx_page_reads_total", Help: "Pages read, by kind and by what was found: fresh, stale or a miss.",
	}, []string{"kind", "found"}))
	for _, kind := range cache.PageKinds() {
		for _, found := range []string{"fresh", "stale", "miss"} {
			m.reads[pageRead{kind, found}] = reads.WithLabelValues(string(kind), found)
		}
	}
	waits := telemetry.Register(registerer, prometheus.NewHistogramVec(
		telemetry.Latency("pnyx_fill_wait_seconds", "How long this node waited for fills, by outcome: made, shed, unreachable, failed, late."),
		[]string{"outcome"}))
	for _, outcome := range outcomes() {
		m.waits[outcome] = waits.WithLabelValues(string(outcome))
	}
	return m
}
