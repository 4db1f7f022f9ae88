package explore

import (
	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// barWidth is the width of a drawing of bars, in its own units.
const barWidth = 1000

// bar is one bar: alone in a row, or a segment of a stack.
type bar struct {
	Label, Class string
	// Value is its value, and Share which part of the whole that is.
	Value               governance.Decimal
	Share               string
	X, Y, Width, Height string
}

// stack returns bars side by side, which fill the width.
func stack(bars []bar) []bar {
	total, before := decimal.Zero, decimal.Zero
	for _, b := range bars {
		total = total.Add(number(b.Value))
	}
	for i := range bars {
		value := number(bars[i].Value)
		bars[i].Share = percent(value, total)
		bars[i].X = coordinate(pixels(before, total, barWidth))
		bars[i].Width = coordinate(pixels(value, total, barWidth))
		before = before.Add(value)
	}
	return bars
}

// columns returns bars that stand side by side, the highest of which fills the height.
func columns(bars []bar) []bar {
	const columnHeight = 240 // the height of a drawing of columns, in its own units
	top := decimal.Zero
	for _, b := range bars {
		top = decimal.Max(top, number(b.Value))
	}
	width := barWidth / float64(max(1, len(bars)))
	for i := range bars {
		height := pixels(number(bars[i].Value), top, columnHeight)
		bars[i].X, bars[i].Width = coordinate(float64(i)*width), coordinate(width*0.8)
		bars[i].Y, bars[i].Height = coordinate(columnHeight-height), coordinate(height)
	}
	return bars
}

// width returns how long a bar in a row of its own is.
func width(value, top governance.Decimal) string {
	return coordinate(pixels(number(value), number(top), barWidth))
}
