package publish

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/telemetry"
	"pnyx/warehouse/pages"
)

// metrics are an interface of the service: alerts and dashboards use their names.
type metrics struct {
	revision         prometheus.Gauge
	publishedAt      prometheus.Gauge
	duration         prometheus.Histogram
	proposals        prometheus.Counter
	topics           prometheus.Counter
	values           prometheus.Counter
	committedThrough prometheus.Gauge
	lagging          prometheus.Gauge
	unbalanced       prometheus.Counter
	unknownStates    prometheus.Counter
	sortedCopies     *prometheus.HistogramVec
	asOf             *prometheus.GaugeVec
	delay            *prometheus.HistogramVec
	// ranged counts proposals counted by ranges, recountDifferences recounts that differed.
	ranged, recountDifferences prometheus.Counter
	recounts                   prometheus.Histogram
}

func newMetrics(registerer prometheus.Registerer) metrics {
	m := metrics{
		revision: telemetry.Gauge(registerer, "pnyx_publish_revision",
			"Revision of this worker's last publication."),
		publishedAt: telemetry.Gauge(registerer, "pnyx_publish_last_timestamp_seconds",
			"Time of this worker's last publication."),
		committedThrough: telemetry.Gauge(registerer, "pnyx_publish_sealed_through_timestamp_seconds",
			"Commit time of the newest batch that is fully published. Lag is now minus this value."),
		lagging: telemetry.Gauge(registerer, "pnyx_publish_unsettled_daos",
			"DAOs that keep previous numbers because their proposals do not sum to their ballots yet."),
		proposals: telemetry.Counter(registerer, "pnyx_publish_proposals_total",
			"Proposals computed and published."),
		topics: telemetry.Counter(registerer, "pnyx_publish_topics_total",
			"Forum topics computed and published."),
		values: telemetry.Counter(registerer, "pnyx_publish_values_total",
			"Values written to Redis."),
		unbalanced: telemetry.Counter(registerer, "pnyx_publish_unbalanced_total",
			"Sums that did not match their parts. The previous numbers stay."),
		unknownStates: telemetry.Counter(registerer, "pnyx_publish_unknown_states_total",
			"Publications of proposals with a word of upstream for their state that is not known."),
		duration: telemetry.Histogram(registerer, telemetry.Work("pnyx_publish_duration_seconds", "Duration of publications.")),
		sortedCopies: telemetry.Histograms(registerer,
			telemetry.Work("pnyx_order_duration_seconds", "Duration of building a sorted copy, by kind."), "kind"),
		asOf: telemetry.Gauges(registerer, "pnyx_publish_data_as_of_timestamp_seconds",
			"Commit time up to which all batches are in the numbers of every DAO of the class, "+
				"by ballots: small (below 1,000), medium, large (20,000 or more).", "dao_class"),
		delay: telemetry.Histograms(registerer, telemetry.Work("pnyx_publish_delay_seconds",
			"Time from the commit of a batch until the DAOs it touches are published, by class."), "dao_class"),
		ranged: telemetry.Counter(registerer, "pnyx_publish_ranged_total",
			"Proposals of which only the ranges of voters that changed were counted."),
		recountDifferences: telemetry.Counter(registerer, "pnyx_publish_recount_differences_total",
			"Recounts that differed from what was published. The recount replaced it."),
		recounts: telemetry.Histogram(registerer, telemetry.Work("pnyx_publish_recount_duration_seconds", "Duration of recounts of large proposals and DAOs.")),
	}
	for _, kind := range []pages.SortedCopyKind{pages.BallotCopy, pages.VoterCopy} {
		m.sortedCopies.WithLabelValues(string(kind))
	}
	for _, class := range daoClasses() {
		m.asOf.WithLabelValues(string(class))
		m.delay.WithLabelValues(string(class))
	}
	return m
}

func (m metrics) observe(in Input, result Result) {
	m.revision.Set(float64(in.Revision))
	m.publishedAt.SetToCurrentTime()
	m.duration.Observe(result.Took.Seconds())
	m.proposals.Add(float64(result.Proposals))
	m.topics.Add(float64(result.Topics))
	m.values.Add(float64(result.Written.Written()))
	if in.CommittedAt.IsZero() {
		return
	}
	waited := in.At.Add(result.Took).Sub(in.CommittedAt) // by the warehouse's clock
	for id, class := range result.Classes {
		if !result.Lagging[id] {
			m.delay.WithLabelValues(string(class)).Observe(max(0, waited.Seconds()))
		}
	}
}

func (m metrics) heartbeat(now time.Time, lagging map[string]laggingDAO) {
	m.committedThrough.Set(float64(now.UnixMilli()) / 1000)
	m.lagging.Set(float64(len(lagging)))
	oldest := map[daoClass]time.Time{}
	for _, class := range daoClasses() {
		oldest[class] = now
	}
	for _, dao := range lagging {
		if dao.asOf.Before(oldest[dao.class]) {
			oldest[dao.class] = dao.asOf
		}
	}
	for class, at := range oldest {
		m.asOf.WithLabelValues(string(class)).Set(float64(at.UnixMilli()) / 1000)
	}
}

// daoClass groups DAOs by ballots, which decide how long publishing takes. It is a label of metrics.
type daoClass string

// Classes of DAOs: fewer than maxSmallDAO ballots, fewer than make a sorted copy, and all others.
const (
	smallDAO  daoClass = "small"
	mediumDAO daoClass = "medium"
	largeDAO  daoClass = "large"
)

// daoClasses lists all classes, so that each has a metric from the start.
func daoClasses() []daoClass { return []daoClass{smallDAO, mediumDAO, largeDAO} }

func daoClassOf(ballots uint64) daoClass {
	const maxSmallDAO = 1000 // the number of ballots from which on a DAO is not small
	switch {
	case ballots < maxSmallDAO:
		return smallDAO
	case ballots < pages.SortedCopyThreshold:
		return mediumDAO
	}
	return largeDAO
}
