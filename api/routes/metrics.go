package routes

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/governance/query"
	"pnyx/telemetry"
)

// outcome is the outcome of a fill that a node enqueued.
type outcome string

// The outcomes.
const (
	// outcomeMade is a fill whose page was built.
	outcomeMade outcome = "made"
	// outcomeShed is a fill that was refused because the queue is full.
	outcomeShed outcome = "shed"
	// outcomeUnreachable is a fill that could not be enqueued, because of Redis.
	outcomeUnreachable outcome = "unreachable"
	// outcomeFailed is a fill for which the worker reported an error.
	outcomeFailed outcome = "failed"
	// outcomeLate is a fill that took longer than the request timeout.
	outcomeLate outcome = "late"
)

func outcomes() []outcome {
	return []outcome{outcomeMade, outcomeShed, outcomeUnreachable, outcomeFailed, outcomeLate}
}

// fillOutcome classifies an error of pages.await.
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

// pageRead is a kind of page, and the result of reading one: fresh, stale or miss.
type pageRead struct {
	kind  query.Kind
	found string
}

// pageMetrics are the metrics of pages that workers make on demand.
type pageMetrics struct {
	reads   map[pageRead]prometheus.Counter
	waiters prometheus.Gauge
	waits   map[outcome]prometheus.Observer
}

func newPageMetrics(registerer prometheus.Registerer) pageMetrics {
	m := pageMetrics{
		reads: map[pageRead]prometheus.Counter{}, waits: map[outcome]prometheus.Observer{},
		waiters: telemetry.Gauge(registerer, "pnyx_fill_waiters", "Requests on this node that wait for a fill."),
	}
	reads := telemetry.Counters(registerer, "pnyx_page_reads_total",
		"Pages read, by kind and result: fresh, stale or miss.", "kind", "found")
	for _, kind := range PageKinds() {
		for _, found := range []string{"fresh", "stale", "miss"} {
			m.reads[pageRead{kind, found}] = reads.WithLabelValues(string(kind), found)
		}
	}
	waits := telemetry.Histograms(registerer,
		telemetry.Latency("pnyx_fill_wait_seconds", "Time that this node waited for fills, by outcome: made, shed, unreachable, failed, late."), "outcome")
	for _, outcome := range outcomes() {
		m.waits[outcome] = waits.WithLabelValues(string(outcome))
	}
	return m
}
