package main

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// Measure takes one figure.
type Measure func(context.Context) (float64, error)

// Sides are the two things that a row compares, ready to be measured. Bare is nil
// where a figure is held against a bound alone.
type Sides struct {
	Ours, Bare Measure
}

// Row is one comparison: ours against a yardstick that does the same work barely.
// Both are measured in turns, so that whatever else the machine does hits both.
type Row struct {
	// ID names the row in -only.
	ID string
	// Name says what is measured, Yardstick against what.
	Name, Yardstick string
	// Unit is that of both figures: "requests/s", "ms", "s", "MB", "rows/s".
	Unit string
	// Ratio bounds ours ÷ bare, the median over all rounds; Value bounds ours, the
	// median too.
	Ratio, Value Bound
	// Rounds is how often both are measured, and Quick the same for a quick run; zero
	// leaves the row out.
	Rounds, Quick int
	// Prepare starts what is to be measured. What it starts through the world ends
	// after the row.
	Prepare func(context.Context, *World) (Sides, error)
}

// Bound is what a figure has to keep; its zero value allows any.
type Bound struct {
	Least, Most float64
}

// AtLeast bounds a figure from below.
func AtLeast(least float64) Bound { return Bound{Least: least} }

// AtMost bounds a figure from above.
func AtMost(most float64) Bound { return Bound{Most: most} }

// Set says whether there is a bound at all.
func (b Bound) Set() bool { return b != Bound{} }

// Holds says whether a figure keeps the bound.
func (b Bound) Holds(figure float64) bool {
	return (b.Least == 0 || figure >= b.Least) && (b.Most == 0 || figure <= b.Most)
}

// String writes the bound for people.
func (b Bound) String() string {
	switch {
	case b.Least != 0:
		return fmt.Sprintf("≥ %v", b.Least)
	case b.Most != 0:
		return fmt.Sprintf("≤ %v", b.Most)
	}
	return ""
}

// Result is what came out of a row.
type Result struct {
	Row Row `json:"-"`
	// ID is the row's.
	ID         string
	Ours, Bare Spread
	// Ratio is over the rounds, each round's own.
	Ratio Spread
}

// Reached says whether the bounds hold.
func (r Result) Reached() bool {
	return r.Row.Ratio.Holds(r.Ratio.Median) && r.Row.Value.Holds(r.Ours.Median)
}

// Spread is what several measurements of one thing gave.
type Spread struct {
	Min, Median, Max float64
	Count            int
}

// spreadOf sums up figures; the median of an even number is the mean of the middle
// two.
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

// run measures both sides of a row in turns. The side that begins changes with
// each round, so that neither always follows the other.
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

// figure writes a number as people read it: three digits that count.
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
