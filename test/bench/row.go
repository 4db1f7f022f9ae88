package main

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// Measure measures one figure, in the unit of its row.
type Measure func(context.Context) (float64, error)

// Sides are the two measurements that a row compares, ready to run.
type Sides struct {
	// Ours measures Pnyx.
	Ours Measure
	// Bare measures the yardstick. It is nil if the row has only a bound.
	Bare Measure
}

// Row is one comparison of Pnyx with a yardstick, the minimal program for the same
// work. Measurements alternate between the two, so that other load on the machine
// affects both.
type Row struct {
	// ID identifies the row in the flag -only.
	ID string
	// Name describes the measurement of Pnyx.
	Name string
	// Yardstick describes what Pnyx is compared with.
	Yardstick string
	// Unit is the unit of both figures: "requests/s", "ms", "s", "MB", "rows/s".
	Unit string
	// Ratio bounds the median over all rounds of ours ÷ bare.
	Ratio Bound
	// Value bounds the median over all rounds of ours.
	Value Bound
	// Rounds is the number of measurements of each side; zero omits the row.
	Rounds int
	// Quick is the number of rounds in a quick run; zero omits the row.
	Quick int
	// Prepare starts the programs of the row. Those started through World.Start stop
	// after the row.
	Prepare func(context.Context, *World) (Sides, error)
}

// Bound limits a figure. The zero value allows every figure.
type Bound struct {
	// Least is the minimum; zero means no minimum.
	Least float64
	// Most is the maximum; zero means no maximum.
	Most float64
}

// AtLeast returns a bound with a minimum.
func AtLeast(least float64) Bound { return Bound{Least: least} }

// AtMost returns a bound with a maximum.
func AtMost(most float64) Bound { return Bound{Most: most} }

// Set reports whether the bound limits anything.
func (b Bound) Set() bool { return b != Bound{} }

// Holds reports whether a figure is within the bound.
func (b Bound) Holds(figure float64) bool {
	return (b.Least == 0 || figure >= b.Least) && (b.Most == 0 || figure <= b.Most)
}

// String formats the bound for the report, as in "≥ 0.5"; without a bound it is "".
func (b Bound) String() string {
	switch {
	case b.Least != 0:
		return fmt.Sprintf("≥ %v", b.Least)
	case b.Most != 0:
		return fmt.Sprintf("≤ %v", b.Most)
	}
	return ""
}

// Result is the outcome of a row.
type Result struct {
	// Row is the row that was measured.
	Row Row `json:"-"`
	// ID is the ID of the row.
	ID string
	// Ours has the figures of Pnyx.
	Ours Spread
	// Bare has the figures of the yardstick; its Count is zero without one.
	Bare Spread
	// Ratio has ours ÷ bare of each round.
	Ratio Spread
}

// Reached reports whether the medians are within the bounds of the row.
func (r Result) Reached() bool {
	return r.Row.Ratio.Holds(r.Ratio.Median) && r.Row.Value.Holds(r.Ours.Median)
}

// Spread summarizes repeated measurements of one figure.
type Spread struct {
	// Min is the smallest figure.
	Min float64
	// Median is the middle figure, or the mean of the two middle ones.
	Median float64
	// Max is the largest figure.
	Max float64
	// Count is the number of measurements.
	Count int
}

// spreadOf summarizes figures. The median of an even number of figures is the mean of
// the middle two.
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

// run measures both sides of a row once per round. The order of the sides alternates,
// so that neither always follows the other.
func (row Row) run(ctx context.Context, w *World, log io.Writer) (Result, error) {
	sides, err := row.Prepare(ctx, w)
	if err != nil {
		return Result{}, fmt.Errorf("prepare %s: %w", row.ID, err)
	}
	var ours, bare, ratios []float64
	for round := range row.rounds(w.Quick) {
		a, b, err := sides.measure(ctx, round%2 == 1)
		if err != nil {
			return Result{}, fmt.Errorf("measure %s: %w", row.ID, err)
		}
		ours = append(ours, a)
		if sides.Bare == nil {
			fmt.Fprintf(log, "  %s %s\n", figure(a), row.Unit)
			continue
		}
		bare, ratios = append(bare, b), append(ratios, a/b)
		fmt.Fprintf(log, "  %s against %s %s: %.2f\n", figure(a), figure(b), row.Unit, a/b)
	}
	return Result{Row: row, ID: row.ID, Ours: spreadOf(ours), Bare: spreadOf(bare), Ratio: spreadOf(ratios)}, nil
}

func (row Row) rounds(quick bool) int {
	if quick {
		return row.Quick
	}
	return row.Rounds
}

func (s Sides) measure(ctx context.Context, bareFirst bool) (ours, bare float64, err error) {
	if s.Bare != nil && bareFirst {
		if bare, err = s.Bare(ctx); err != nil {
			return 0, 0, fmt.Errorf("the yardstick: %w", err)
		}
	}
	if ours, err = s.Ours(ctx); err != nil {
		return 0, 0, err
	}
	if s.Bare != nil && !bareFirst {
		if bare, err = s.Bare(ctx); err != nil {
			return 0, 0, fmt.Errorf("the yardstick: %w", err)
		}
	}
	return ours, bare, nil
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
