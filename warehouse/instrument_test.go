package warehouse_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/test/env"
)

func TestConnectionsInUseAreBusyBesideIdleOnes(t *testing.T) {
	t.Parallel()
	w := env.Warehouse(t)
	metrics := prometheus.NewRegistry()
	w.Instrument(metrics, nil)
	env.Concurrently(t, 4, 4, func(int) error { return w.Ping(t.Context()) }) // leaves idle ones
	want := func(busy float64) {
		t.Helper()
		got := map[string]float64{}
		families, err := metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				if family.GetName() == "pnyx_clickhouse_connections" {
					got[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
				}
			}
		}
		if got["busy"] != busy || got["idle"] == 0 {
			t.Errorf("got %v, want %v busy beside idle ones", got, busy)
		}
	}
	want(0)
	var releases []func() error
	for range 2 {
		release, err := w.HoldConnection(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
	}
	// One is taken from the idle ones, or both are.
	if err := w.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(2)
	for _, release := range releases {
		if err := release(); err != nil {
			t.Error(err)
		}
	}
	want(0)
}
