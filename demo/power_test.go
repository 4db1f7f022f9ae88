package demo

import (
	"testing"

	"pnyx/test/check"
)

func TestPowerIsCountedAsPublished(t *testing.T) {
	t.Parallel()
	const exact, half = 123_456_789_012_345_678, 5_000
	for _, test := range []struct {
		power         power
		text, counted string
	}{
		{power{}, "0", "0"},
		{power{form: floatInteger}, "0.0", "0"},
		{power{amount: amount{whole: 7}}, "7", "7"},
		{power{amount: amount{whole: 7}, form: floatInteger}, "7.0", "7"},
		{power{amount: amount{whole: 7, baseUnits: 500_000_000_000_000_000}}, "7.5", "7.5"},
		{power{amount: amount{baseUnits: 1}}, "0.000000000000000001", "0.000000000000000001"},
		{power{amount: amount{baseUnits: exact}}, "0.123456789012345678", "0.123456789012345678"},
		{power{amount: amount{baseUnits: exact}, tail: half}, "0.1234567890123456785000", "0.123456789012345679"},
		{power{amount: amount{baseUnits: exact}, tail: half - 1}, "0.1234567890123456784999", "0.123456789012345678"},
		{power{amount: amount{whole: 3, baseUnits: baseUnitsPerToken - 1}, tail: half}, "3.9999999999999999995000", "4"},
		{power{amount: amount{baseUnits: 5_127_042_573_826}, form: scientific}, "5.127042573826e-06", "0.000005127042573826"},
		{power{amount: amount{baseUnits: 20}, form: scientific}, "2e-17", "0.00000000000000002"},
		{power{amount: amount{baseUnits: 20}, form: scientific, tail: 7001}, "2.07001e-17", "0.000000000000000021"},
	} {
		t.Run(test.text, func(t *testing.T) {
			t.Parallel()
			check.Want(t, test.text, string(test.power.number()))
			check.Want(t, test.counted, test.power.rounded().String(), "counted")
		})
	}
}
