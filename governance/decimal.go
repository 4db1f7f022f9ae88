package governance

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// PowerScale is the number of decimal places that voting power keeps.
const PowerScale = 18

// maxPowerDigits bounds the digits before the decimal point. A Decimal(76,18) holds 58;
// the rest is room for sums over 10^18 ballots, which ClickHouse lets overflow silently.
const maxPowerDigits = 40

// maxNumberText bounds the text of one number: the longest Decimal(76,18) has 78 characters, and upstream prints
// superfluous digits.
const maxNumberText = 256

// maxExponent stands for every exponent beyond it: next to at most maxNumberText
// digits, all of them make a number that is too large, or one that rounds to zero.
const maxExponent = 2 * maxNumberText

// Errors of ParsePower.
var (
	ErrNotANumber = errors.New("not a decimal number")
	ErrNegative   = errors.New("negative")
	ErrTooLarge   = fmt.Errorf("more than %d digits before the decimal point", maxPowerDigits)
)

// Decimal is a number as canonical text: digits without exponent, plus sign, superfluous zeros or
// negative zero, so that equal numbers are equal strings. The empty Decimal is not a number.
// Amounts of voting power carry at most PowerScale decimal places.
type Decimal string

// DecimalOf returns d as canonical text, with every digit it has.
func DecimalOf(d decimal.Decimal) Decimal { return Decimal(d.String()) }

// CountOf returns a count as canonical text.
func CountOf(n uint64) Decimal { return Decimal(strconv.FormatUint(n, 10)) }

// ParsePower reads voting power in any notation, rounded half up to PowerScale decimal places, which rounded reports.
// The error is ErrNotANumber, ErrNegative or ErrTooLarge, wrapped with the text.
func ParsePower(text string) (power decimal.Decimal, rounded bool, err error) {
	exact, err := ParseNumber(text)
	if err != nil {
		return decimal.Zero, false, err
	}
	return powerOf(exact, text)
}

// powerOf returns a number that a text states as voting power.
func powerOf(exact decimal.Decimal, text string) (power decimal.Decimal, rounded bool, err error) {
	if exact.IsNegative() {
		return decimal.Zero, false, fmt.Errorf("%w: %q", ErrNegative, clip(text))
	}
	power, rounded = toPowerScale(exact)
	if power.NumDigits()+int(power.Exponent()) > maxPowerDigits {
		return decimal.Zero, false, fmt.Errorf("%w: %q", ErrTooLarge, clip(text))
	}
	return power, rounded, nil
}

// toPowerScale returns a number rounded half up to PowerScale decimal places, and whether that changed it.
func toPowerScale(exact decimal.Decimal) (power decimal.Decimal, rounded bool) {
	if exact.Exponent() >= -PowerScale {
		return exact.RoundCeil(PowerScale), false // has nothing to round up, and only adds zeros
	}
	power = exact.Round(PowerScale)
	return power, !power.Equal(exact)
}

// ParseUnits reads an integer amount in the smallest unit of a token as voting power, as ParsePower does.
func ParseUnits(text string, decimals int32) (power decimal.Decimal, rounded bool, err error) {
	units, err := ParseNumber(text)
	if err == nil && !units.IsInteger() && !units.IsNegative() {
		err = fmt.Errorf("%w of smallest units: %q", ErrNotANumber, clip(text))
	}
	if err != nil {
		return decimal.Zero, false, err
	}
	return powerOf(units.Shift(-decimals), text)
}

// ParseWhole reads a whole number from 0: 5, 5.0 and 5e0 are one. The error is ErrNotANumber, with the text.
func ParseWhole(text string) (uint64, error) {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, nil
	}
	number, err := ParseNumber(text)
	if err != nil {
		return 0, err
	}
	if whole := number.BigInt(); number.IsInteger() && whole.IsUint64() {
		return whole.Uint64(), nil
	}
	return 0, fmt.Errorf("%w from 0 without decimals: %q", ErrNotANumber, clip(text))
}

// ParseNumber reads a number of at most maxNumberText characters in any notation. It bounds the exponent before
// any arithmetic: 1e999999999 stands for a gigabyte of digits. The error is ErrNotANumber, wrapped with the text.
func ParseNumber(text string) (decimal.Decimal, error) {
	mantissa, exponent := text, 0
	var err error
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		mantissa = text[:at]
		exponent, err = strconv.Atoi(text[at+1:])
	}
	// Atoi returns the nearest int for exponents out of range.
	if err != nil && !errors.Is(err, strconv.ErrRange) || len(text) > maxNumberText {
		return decimal.Zero, fmt.Errorf("%w: %q", ErrNotANumber, clip(text))
	}
	number, err := decimal.NewFromString(mantissa)
	if err != nil {
		return decimal.Zero, fmt.Errorf("%w: %q", ErrNotANumber, clip(text))
	}
	if number.IsZero() {
		return decimal.Zero, nil
	}
	if exponent == 0 {
		return number, nil
	}
	return number.Shift(int32(max(-maxExponent, min(exponent, maxExponent)))), nil
}

// Median returns the middle of some numbers, or the mean of the two in the middle; false of none.
func Median(numbers []decimal.Decimal) (decimal.Decimal, bool) {
	if len(numbers) == 0 {
		return decimal.Zero, false
	}
	sorted := slices.SortedFunc(slices.Values(numbers), decimal.Decimal.Cmp)
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return sorted[middle-1].Add(sorted[middle]).Mul(decimal.New(5, -1)), true
	}
	return sorted[middle], true
}
