package explore

import (
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// units are the words for powers of a thousand, from the second on.
func units() []string { return []string{"M", "B", "T"} }

// short shortens a decimal for reading: nothing is rounded, what is too long is cut.
func short(text string) string {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(whole) > 6 {
		unit := min((len(whole)-1)/3-2, len(units())-1)
		point := len(whole) - 3*(unit+2)
		return governance.GroupDigits(whole[:point]) + decimals(whole[point:], 2) + units()[unit]
	}
	if whole != "0" {
		return governance.GroupDigits(whole) + decimals(fraction, 2)
	}
	if cut := decimals(fraction, 4); cut != "" || strings.Trim(fraction, "0") == "" {
		return "0" + cut
	}
	return "< 0.0001"
}

// decimals returns the first digits of a fraction after a point; nothing where all are zero.
func decimals(fraction string, places int) string {
	cut := strings.TrimRight(fraction[:min(len(fraction), places)], "0")
	if cut == "" {
		return ""
	}
	return "." + cut
}

// number returns a decimal of an answer, which is one.
func number(text governance.Decimal) decimal.Decimal {
	parsed, err := decimal.NewFromString(string(text))
	if err != nil {
		return decimal.Zero
	}
	return parsed
}

// percent returns which part of a total something is, cut at two decimal places.
func percent(part, total decimal.Decimal) string {
	if total.IsZero() {
		return "0%"
	}
	cut, _ := part.Shift(2).QuoRem(total, 2)
	if cut.IsZero() && !part.IsZero() {
		return "< 0.01%"
	}
	return cut.String() + "%"
}

// pixels returns the length of something on a scale: the only float, of which no answer is made.
func pixels(part, total decimal.Decimal, length float64) float64 {
	if total.IsZero() {
		return 0
	}
	return part.Div(total).InexactFloat64() * length
}
