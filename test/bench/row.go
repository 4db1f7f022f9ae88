package main

import (
	"context"
	"fmt"
	"slices"
)

// Measure measures one figure, in the unit of its row.
type Measure func(context.Context) float64

// Sides are the two measurements that a row compares, ready to run.
type Sides struct {
	// Baseline is nil if the row has only a bound.
	Pnyx, Baseline Measure
}

// Row is one comparison of Pnyx with a baseline, in turns, so that other load affects both.
type Row struct {
	// ID is for -only. Name is measured against Baseline. Unit is of both: "requests/s", "ms", "s", "MB",
	// "rows/s".
	ID, Name, Baseline, Unit string
	// Ratio bounds the median over all rounds of Pnyx ÷ baseline, and Value that of Pnyx.
	Ratio, Value Bound
	// Rounds is the number of measurements of each side, Quick the number in a quick run; zero omits the row.
	Rounds, Quick int
	// Prepare starts the programs of the row. Those from Environment.Start stop after it.
	Prepare func(context.Context, *Environment) Sides
}

// Bound limits a figure. The zero value allows every figure.
type Bound struct {
	Min, Max float64 // zero means none
}

// AtLeast returns a bound with a minimum.
func AtLeast(lowest float64) Bound { return Bound{Min: lowest} }

// AtMost returns a bound with a maximum.
func AtMost(highest float64) Bound { return Bound{Max: highest} }

// Set reports whether the bound limits anything.
func (b Bound) Set() bool { return b != Bound{} }

// Holds reports whether a figure is within the bound.
func (b Bound) Holds(figure float64) bool {
	return (b.Min == 0 || figure >= b.Min) && (b.Max == 0 || figure <= b.Max)
}

// String formats the bound for the report, as in "≥ 0.5"; without a bound it is "".
func (b Bound) String() string {
	switch {
	case b.Min != 0:
		return fmt.Sprintf("≥ %v", b.Min)
	case b.Max != 0:
		return fmt.Sprintf("≤ %v", b.Max)
	}
	return ""
}

// Result is the outcome of a row.
type Result struct {
	Row Row `json:"-"`
	ID  string
	// Baseline has a Count of zero without one. Ratio has Pnyx ÷ baseline of each round.
	Pnyx, Baseline, Ratio Spread
}

// Reached reports whether the medians are within the bounds of the row.
func (r Result) Reached() bool {
	return r.Row.Ratio.Holds(r.Ratio.Median) && r.Row.Value.Holds(r.Pnyx.Median)
}

// Spread summarizes repeated measurements of one figure.
type Spread struct {
	Min, Median, Max float64
	Count            int
}

// spreadOf summarizes figures. The median of an even number is the mean of the middle two.
func spreadOf(figures []float64) Spread {
	if len(figures) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(figures))
	n := len(sorted)
	return Spread{
		Min: sorted[0], Max: sorted[n-1], Count: n,
		Median: (sorted[(n-1)/2] + sorted[n/2]) / 2,
	}
}

// run measures both sides once per round, in alternating order.
func (row Row) run(ctx context.Context, e *Environment) Result {
	sides := row.Prepare(ctx, e)
	var pnyx, baseline, ratios []float64
	for round := range row.rounds(e.Quick) {
		a, b := sides.measure(ctx, round%2 == 1)
		pnyx = append(pnyx, a)
		if sides.Baseline == nil {
			fmt.Fprintf(e.Log, "  %s %s\n", figure(a), row.Unit)
			continue
		}
		baseline, ratios = append(baseline, b), append(ratios, a/b)
		fmt.Fprintf(e.Log, "  %s against %s %s: %.2f\n", figure(a), figure(b), row.Unit, a/b)
	}
	return Result{Row: row, ID: row.ID, Pnyx: spreadOf(pnyx), Baseline: spreadOf(baseline), Ratio: spreadOf(ratios)}
}

func (row Row) rounds(quick bool) int {
	if quick {
		return row.Quick
	}
	return row.Rounds
}

func (s Sides) measure(ctx context.Context, baselineFirst bool) (pnyx, baseline float64) {
	for _, isBaseline := range []bool{baselineFirst, !baselineFirst} {
		if !isBaseline {
			pnyx = s.Pnyx(ctx)
		} else if s.Baseline != nil {
			baseline = s.Baseline(ctx)
		}
	}
	return pnyx, baseline
}

// figure formats a number with three significant digits.
func figure(value float64) string {
	switch {
	case value >= 1000:
		return grouped(value)
	case value >= 100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.2f", value)
}
