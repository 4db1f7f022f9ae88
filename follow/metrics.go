package follow

import (
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/governance"
	"pnyx/telemetry"
	"pnyx/warehouse/records"
)

// metrics are the metrics of a follower. Requests are counted by package fetch.
type metrics struct {
	failures *prometheus.CounterVec
	// runs is how long polls take.
	runs *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer, f *Follower) *metrics {
	telemetry.Register(registerer, collector{f})
	return &metrics{
		failures: telemetry.Counters(registerer, "pnyx_follow_failures_total", "Polls of followed upstreams that failed.", "upstream", "poller"),
		runs: telemetry.Histograms(registerer, telemetry.Work("pnyx_follow_run_duration_seconds",
			"Duration of the polls of followed upstreams that succeeded."), "poller"),
	}
}

// collector states how the upstreams fare that this process leads, as the cursors have it.
type collector struct{ follower *Follower }

// Describe implements prometheus.Collector. It names no metric: which there are depends on what is led.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	for _, j := range c.follower.opened() {
		j.collect(to)
	}
}

func (j *Journal) collect(to chan<- prometheus.Metric) {
	send := func(kind prometheus.ValueType, value float64, name, help string, labels prometheus.Labels) {
		all := prometheus.Labels{"upstream": j.upstream}
		maps.Copy(all, labels)
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, all), kind, value)
	}
	var done, total, gaps, withdrawn, reorgs uint64
	states, lags := map[governance.SourceState]int{}, map[string]time.Duration{}
	j.mu.Lock()
	for key, e := range j.cursors {
		if key.poller == records.FollowSource {
			continue
		}
		cursor := e.stored()
		states[cursor.State]++
		done, total = done+min(cursor.Done, cursor.Total), total+cursor.Total
		gaps, withdrawn, reorgs = gaps+cursor.Gaps, withdrawn+cursor.Withdrawn, reorgs+cursor.Reorgs
		if e.interval > 0 {
			lags[key.poller] = max(lags[key.poller], e.lag(j.Clock.Now()))
		}
	}
	rejected := j.rejects.counted
	j.mu.Unlock()
	send(prometheus.GaugeValue, 1, "pnyx_follow_leading", "1 for each upstream that this process follows.", nil)
	for poller, lag := range lags {
		send(prometheus.GaugeValue, lag.Seconds(), "pnyx_follow_lag_seconds",
			"Time since everything that the upstream had was read, by poller.", prometheus.Labels{"poller": poller})
	}
	for _, state := range governance.SourceStates() {
		send(prometheus.GaugeValue, float64(states[state]), "pnyx_follow_pollers", "Pollers of followed sources, by state.",
			prometheus.Labels{"state": string(state)})
	}
	if total > 0 {
		send(prometheus.GaugeValue, float64(done)/float64(total), "pnyx_follow_backfill_ratio",
			"Share of the past that has been read, over the sources whose size is known.", nil)
	}
	send(prometheus.CounterValue, float64(gaps), "pnyx_follow_gaps_total", "Items that only a second look found.", nil)
	send(prometheus.CounterValue, float64(withdrawn), "pnyx_follow_withdrawn_total", "Items that the upstream took back.", nil)
	send(prometheus.CounterValue, float64(reorgs), "pnyx_follow_reorgs_total", "Reorganizations of the chain.", nil)
	send(prometheus.CounterValue, float64(rejected), "pnyx_follow_rejected_total",
		"Items that were refused: no valid records, or not what the upstream was asked for.", nil)
}
