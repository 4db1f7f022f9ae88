package env

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Counts are the values of a counter or gauge by its labels, which are written as "code= route=daos.list".
func Counts(tb testing.TB, metrics prometheus.Gatherer, name string) map[string]float64 {
	tb.Helper()
	families := Must(metrics.Gather())(tb)
	values := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			values[strings.Join(labels, " ")] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	return values
}
