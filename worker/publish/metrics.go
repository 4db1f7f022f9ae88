package publish

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/telemetry"
	"pnyx/warehouse"
)

// metrics is what an operator sees of a worker.
type metrics struct {
	revision    prometheus.Gauge
	duration    prometheus.Histogram
	proposals   prometheus.Counter
	topics      prometheus.Counter
	values      prometheus.Counter
	unbalanced  prometheus.Counter
	publishedAt prometheus.Gauge
	through     prometheus.Gauge
	unsettled   prometheus.Gauge
	orders      *prometheus.HistogramVec
	lag         lagMetrics
}

func newMetrics(registerer prometheus.Registerer) metrics {
	m := metrics{
		revision: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pnyx_publish_revision", Help: "Revision last published by this worker.",
		}),
		publishedAt: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pnyx_publish_last_timestamp_seconds", Help: "When this worker last published.",
		}),
		through: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pnyx_publish_sealed_through_timestamp_seconds",
			Help: "Everything sealed until then is published; the time since is the publication's lag.",
		}),
		unsettled: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pnyx_publish_unsettled_daos", Help: "DAOs whose numbers do not agree yet and are tried again.",
		}),
		orders: prometheus.NewHistogramVec(
			telemetry.Work("pnyx_order_duration_seconds", "How long ordered copies take to build, by kind."), []string{"kind"}),
		duration: prometheus.NewHistogram(
			telemetry.Work("pnyx_publish_duration_seconds", "How long publications take.")),
		proposals: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_publish_proposals_total", Help: "Proposals worked out and published.",
		}),
		topics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_publish_topics_total", Help: "Forum topics worked out and published.",
		}),
		values: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_publish_values_total", Help: "Values written to Redis.",
		}),
		unbalanced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_publish_unbalanced_total", Help: "Sums that did not equal their parts; the last good numbers stay.",
		}),
	}
	m.lag = newLagMetrics(registerer)
	for _, kind := range []warehouse.SortedCopyKind{warehouse.BallotCopy, warehouse.VoterCopy} {
		m.orders.WithLabelValues(string(kind))
	}
	registerer.MustRegister(m.revision, m.publishedAt, m.through, m.unsettled, m.orders, m.duration,
		m.proposals, m.topics, m.values, m.unbalanced)
	return m
}

// observe notes a publication that is complete.
func (m metrics) observe(p *publication) {
	m.revision.Set(float64(p.revision))
	m.publishedAt.SetToCurrentTime()
	m.duration.Observe(time.Since(p.began).Seconds())
	m.proposals.Add(float64(p.proposals))
	m.topics.Add(float64(p.topicsDone))
	m.values.Add(float64(p.writer.Written()))
	m.lag.observe(p)
}
