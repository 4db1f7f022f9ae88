// Package telemetry is what the measuring parts have in common: the shapes of
// histograms, and traces. Metrics themselves are declared beside what they measure.
package telemetry

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Latency is a histogram of how long somebody waits: 100 µs to 10 s. All of them have
// these buckets, so that one can be held against another.
func Latency(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Name: name, Help: help, Buckets: []float64{
		0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
	}}
}

// Work is a histogram of how long work takes that nobody waits for: 10 ms to 10
// minutes.
func Work(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Name: name, Help: help, Buckets: []float64{
		0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 150, 300, 600,
	}}
}

// Register registers a metric, or returns the one of that name that is registered
// already: parts that exist twice in a process count together. Nil measures for
// nobody.
func Register[M prometheus.Collector](registerer prometheus.Registerer, metric M) M {
	if registerer == nil {
		return metric
	}
	err := registerer.Register(metric)
	if known, is := errors.AsType[prometheus.AlreadyRegisteredError](err); is {
		if same, is := known.ExistingCollector.(M); is {
			return same
		}
	}
	if err != nil {
		panic(err) // two metrics of one name: a mistake in the program
	}
	return metric
}
