package publish

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/telemetry"
	"pnyx/warehouse"
)

// class sorts DAOs by how much there is to count in them, which is what decides how
// long that takes.
type class string

// The classes: up to a thousand ballots, up to as many as are served without a copy,
// and more.
const (
	smallDAO  class = "small"
	mediumDAO class = "medium"
	largeDAO  class = "large"
)

// smallBelow is the number of ballots from which on a DAO is not small.
const smallBelow = 1000

func classes() []class { return []class{smallDAO, mediumDAO, largeDAO} }

func classOf(ballots uint64) class {
	switch {
	case ballots < smallBelow:
		return smallDAO
	case ballots < warehouse.SortedCopyThreshold:
		return mediumDAO
	}
	return largeDAO
}

// held is a DAO whose last good numbers stay: those of a moment.
type held struct {
	class class
	asOf  time.Time
}

// hold notes which DAOs stay at the numbers of an earlier publication.
func (s *session) hold(p *publication) {
	before := p.at
	if s.published.CommittedThrough > 0 {
		before = time.UnixMicro(s.published.CommittedThrough)
	}
	still := map[string]held{}
	for id := range p.unsettled {
		h, known := s.held[id]
		if !known {
			h = held{p.classes[id], before}
		}
		still[id] = h
	}
	s.held = still
}

// lagMetrics is what an operator sees of how far published numbers are behind.
type lagMetrics struct {
	asOf  map[class]prometheus.Gauge
	delay map[class]prometheus.Observer
}

func newLagMetrics(registerer prometheus.Registerer) lagMetrics {
	m := lagMetrics{asOf: map[class]prometheus.Gauge{}, delay: map[class]prometheus.Observer{}}
	asOf := telemetry.Register(registerer, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "pnyx_publish_data_as_of_timestamp_seconds",
		Help: "Everything sealed until then is in the numbers of every DAO of the class, by its ballots: small (below 1,000), medium, large (20,000 or more).",
	}, []string{"dao_class"}))
	delay := telemetry.Register(registerer, prometheus.NewHistogramVec(
		telemetry.Work("pnyx_publish_delay_seconds", "Time from the sealing of a batch until the DAOs that it touches are published, by class."),
		[]string{"dao_class"}))
	for _, c := range classes() {
		m.asOf[c], m.delay[c] = asOf.WithLabelValues(string(c)), delay.WithLabelValues(string(c))
	}
	return m
}

// through notes that everything sealed until now is published, but for what is held.
func (m lagMetrics) through(now time.Time, back map[string]held) {
	oldest := map[class]time.Time{}
	for _, c := range classes() {
		oldest[c] = now
	}
	for _, h := range back {
		if h.asOf.Before(oldest[h.class]) {
			oldest[h.class] = h.asOf
		}
	}
	for c, at := range oldest {
		m.asOf[c].Set(float64(at.UnixMilli()) / 1000)
	}
}

// observe notes how long the DAOs of a publication had to wait for it, by the
// warehouse's clock.
func (m lagMetrics) observe(p *publication) {
	if p.sealedAt.IsZero() {
		return
	}
	waited := p.at.Add(time.Since(p.began)).Sub(p.sealedAt)
	for id, c := range p.classes {
		if !p.unsettled[id] {
			m.delay[c].Observe(max(0, waited.Seconds()))
		}
	}
}
