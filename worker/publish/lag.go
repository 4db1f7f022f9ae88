package publish

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/telemetry"
	"pnyx/warehouse/pages"
)

// daoClass groups DAOs by their number of ballots, which decides how long it takes to
// publish them. It is a label of metrics.
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

// laggingDAO is a DAO that keeps previous numbers, with the time up to which batches are in them.
type laggingDAO struct {
	class daoClass
	asOf  time.Time
}

// updateLagging takes over which DAOs lag after a publication. Those that did before keep
// the time of their numbers.
func (t *leaderTerm) updateLagging(in Input, result Result) {
	previous := in.At
	if t.published.CommittedThrough > 0 {
		previous = time.UnixMicro(t.published.CommittedThrough)
	}
	lagging := map[string]laggingDAO{}
	for id := range result.Lagging {
		dao, known := t.laggingDAOs[id]
		if !known {
			dao = laggingDAO{result.Classes[id], previous}
		}
		lagging[id] = dao
	}
	t.lagging, t.laggingDAOs = result.Lagging, lagging
}

// lagMetrics states how far published numbers lag behind the warehouse, by class.
type lagMetrics struct {
	// asOf is the time up to which batches are in the numbers of all DAOs of a class.
	asOf *prometheus.GaugeVec
	// delay is the time from the commit of a batch to its publication, in seconds.
	delay *prometheus.HistogramVec
}

func newLagMetrics(registerer prometheus.Registerer) lagMetrics {
	m := lagMetrics{
		asOf: telemetry.Gauges(registerer, "pnyx_publish_data_as_of_timestamp_seconds",
			"Commit time up to which all batches are in the numbers of every DAO of the class, "+
				"by ballots: small (below 1,000), medium, large (20,000 or more).", "dao_class"),
		delay: telemetry.Histograms(registerer, telemetry.Work(
			"pnyx_publish_delay_seconds",
			"Time from the commit of a batch until the DAOs it touches are published, by class.",
		), "dao_class"),
	}
	for _, class := range daoClasses() {
		m.asOf.WithLabelValues(string(class))
		m.delay.WithLabelValues(string(class))
	}
	return m
}

// heartbeat notes that everything committed by now is published, except in the DAOs that lag.
func (m lagMetrics) heartbeat(now time.Time, lagging map[string]laggingDAO) {
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

// observe notes how long the DAOs of a publication waited for it, by the warehouse's clock.
func (m lagMetrics) observe(in Input, result Result) {
	if in.CommittedAt.IsZero() {
		return
	}
	delay := in.At.Add(result.Took).Sub(in.CommittedAt)
	for id, class := range result.Classes {
		if !result.Lagging[id] {
			m.delay.WithLabelValues(string(class)).Observe(max(0, delay.Seconds()))
		}
	}
}
