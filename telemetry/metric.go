// Package telemetry holds what all measured code shares: histogram buckets (Latency,
// Work), registration (Register) and traces (Tracer, Span). Metrics are declared next to
// the code that they measure.
package telemetry

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Latency returns the options of a histogram of what callers wait for, with common buckets from 100 µs to 10 s.
func Latency(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Name: name, Help: help, Buckets: []float64{
		0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
	}}
}

// Work returns the options of a histogram of background work, with buckets from 10 ms to 10 minutes.
func Work(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Name: name, Help: help, Buckets: []float64{
		0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 150, 300, 600,
	}}
}

// Register registers a metric, or returns the registered one of the same name, which parts of a process share. A
// nil registerer registers nothing. It panics if another kind of metric has the name.
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
		panic(err) // two metrics of one name: a programming error
	}
	return metric
}

// Counter registers a counter, as Register does.
func Counter(registerer prometheus.Registerer, name, help string) prometheus.Counter {
	return Register(registerer, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}))
}

// Counters registers counters by labels, as Register does.
func Counters(registerer prometheus.Registerer, name, help string, labels ...string) *prometheus.CounterVec {
	return Register(registerer, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

// Gauge registers a gauge, as Register does.
func Gauge(registerer prometheus.Registerer, name, help string) prometheus.Gauge {
	return Register(registerer, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}))
}

// Gauges registers gauges by labels, as Register does.
func Gauges(registerer prometheus.Registerer, name, help string, labels ...string) *prometheus.GaugeVec {
	return Register(registerer, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

// GaugeFunc registers a gauge that has the value of a function when it is read, as Register does.
func GaugeFunc(registerer prometheus.Registerer, name, help string, value func() float64) {
	Register(registerer, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// Histogram registers a histogram, as Register does. Latency and Work are options.
func Histogram(registerer prometheus.Registerer, options prometheus.HistogramOpts) prometheus.Histogram {
	return Register(registerer, prometheus.NewHistogram(options))
}

// Histograms registers histograms by labels, as Register does. Latency and Work are options.
func Histograms(registerer prometheus.Registerer, options prometheus.HistogramOpts, labels ...string) *prometheus.HistogramVec {
	return Register(registerer, prometheus.NewHistogramVec(options, labels))
}
