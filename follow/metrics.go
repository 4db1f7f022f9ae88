package follow

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/governance"
	"pnyx/telemetry"
	"pnyx/warehouse/records"
)

// metrics are the metrics of a follower. Requests are counted by package fetch.
type metrics struct {
	// failures counts failed polls.
	failures *prometheus.CounterVec
	// runs is how long polls take.
	runs *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer, f *Follower) *metrics {
	telemetry.Register(registerer, newCollector(f))
	return &metrics{
		failures: telemetry.Counters(registerer, "pnyx_follow_failures_total", "Polls of followed upstreams that failed.", "upstream", "poller"),
		runs: telemetry.Histograms(registerer, telemetry.Work("pnyx_follow_run_duration_seconds",
			"Duration of the polls of followed upstreams that succeeded."), "poller"),
	}
}

// collector states how the upstreams fare that this process leads, as the cursors have it.
type collector struct {
	follower *Follower

	leading, lag, pollers, progress, gaps, withdrawn, reorgs, rejected *prometheus.Desc
}

func newCollector(f *Follower) *collector {
	about := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"upstream"}, labels...), nil)
	}
	return &collector{
		follower: f,
		leading:  about("pnyx_follow_leading", "1 for each upstream that this process follows."),
		lag: about("pnyx_follow_lag_seconds",
			"Time since everything that the upstream had was read, by poller.", "poller"),
		pollers: about("pnyx_follow_pollers", "Pollers of followed sources, by state.", "state"),
		progress: about("pnyx_follow_backfill_ratio",
			"Share of the past that has been read, over the sources whose size is known."),
		gaps:      about("pnyx_follow_gaps_total", "Items that only a second look found."),
		withdrawn: about("pnyx_follow_withdrawn_total", "Items that the upstream took back."),
		reorgs:    about("pnyx_follow_reorgs_total", "Reorganizations of the chain."),
		rejected: about("pnyx_follow_rejected_total",
			"Items that were refused: no valid records, or not what the upstream was asked for."),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, about := range []*prometheus.Desc{c.leading, c.lag, c.pollers, c.progress, c.gaps, c.withdrawn, c.reorgs, c.rejected} {
		to <- about
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	for _, j := range c.follower.opened() {
		c.collect(to, j)
	}
}

func (c *collector) collect(to chan<- prometheus.Metric, j *Journal) {
	send := func(about *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(about, kind, value, append([]string{j.upstream}, labels...)...)
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
	send(c.leading, prometheus.GaugeValue, 1)
	for poller, lag := range lags {
		send(c.lag, prometheus.GaugeValue, lag.Seconds(), poller)
	}
	for _, state := range governance.SourceStates() {
		send(c.pollers, prometheus.GaugeValue, float64(states[state]), string(state))
	}
	if total > 0 {
		send(c.progress, prometheus.GaugeValue, float64(done)/float64(total))
	}
	send(c.gaps, prometheus.CounterValue, float64(gaps))
	send(c.withdrawn, prometheus.CounterValue, float64(withdrawn))
	send(c.reorgs, prometheus.CounterValue, float64(reorgs))
	send(c.rejected, prometheus.CounterValue, float64(rejected))
}
