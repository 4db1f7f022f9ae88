package demo

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// baseUnitsPerToken is the number of base units, the smallest part of voting power,
// in one token.
const baseUnitsPerToken = 1_000_000_000_000_000_000

// Bounds of the magnitude of voting power, as powers of ten.
const (
	minMagnitude = -4
	maxMagnitude = 8
)

// amount is an exact amount of voting power. It holds the sum of 10^10 ballots of
// 10^9 tokens each.
type amount struct {
	whole     uint64
	baseUnits uint64 // below baseUnitsPerToken
}

func (a amount) plus(b amount) amount {
	sum := amount{a.whole + b.whole, a.baseUnits + b.baseUnits}
	if sum.baseUnits >= baseUnitsPerToken {
		sum.whole++
		sum.baseUnits -= baseUnitsPerToken
	}
	return sum
}

func (a amount) exceeds(b amount) bool {
	return a.whole > b.whole || a.whole == b.whole && a.baseUnits > b.baseUnits
}

// String returns the amount as a decimal number without trailing zeros.
func (a amount) String() string {
	if a.baseUnits == 0 {
		return strconv.FormatUint(a.whole, 10)
	}
	return strings.TrimRight(fmt.Sprintf("%d.%018d", a.whole, a.baseUnits), "0")
}

// baseUnitsText returns the amount as an integer of base units, as a token contract
// states it.
func (a amount) baseUnitsText() string {
	if a.whole == 0 {
		return strconv.FormatUint(a.baseUnits, 10)
	}
	return fmt.Sprintf("%d%018d", a.whole, a.baseUnits)
}

// form is a notation in which upstream systems publish numbers.
type form uint8

const (
	plain        form = iota // 1640.75
	floatInteger             // 7.0, an integer that went through a float
	scientific               // 5.127e-06
)

// power is the voting power of a ballot and its notation.
type power struct {
	amount amount
	form   form
	// tail holds the 19th to 22nd decimal places; 0 if there are none.
	tail uint64
}

// rounded returns the power that counts: rounded half up to 18 decimal places.
func (p power) rounded() amount {
	if p.tail >= 5000 {
		return p.amount.plus(amount{baseUnits: 1})
	}
	return p.amount
}

// number returns the power as a JSON number in its notation.
func (p power) number() json.Number {
	switch {
	case p.form == scientific && p.amount.whole == 0 && p.amount.baseUnits > 0:
		return p.scientific()
	case p.form == floatInteger && p.amount.baseUnits == 0:
		return json.Number(p.amount.String() + ".0")
	case p.tail > 0:
		return json.Number(fmt.Sprintf("%d.%018d%04d", p.amount.whole, p.amount.baseUnits, p.tail))
	}
	return json.Number(p.amount.String())
}

// scientific returns a power below one in scientific notation.
func (p power) scientific() json.Number {
	digits := strconv.FormatUint(p.amount.baseUnits, 10)
	exponent := 18 - (len(digits) - 1)
	if p.tail > 0 {
		digits += fmt.Sprintf("%04d", p.tail)
	}
	digits = strings.TrimRight(digits, "0")
	if len(digits) > 1 {
		digits = digits[:1] + "." + digits[1:]
	}
	return json.Number(fmt.Sprintf("%se-%02d", digits, exponent))
}

// drawPower draws a voting power like a token balance: the logarithm is nearly normal,
// the most active members have more, and digits are those that upstream publishes.
func drawPower(rng random, rank uint64) power {
	switch rng.IntN(1000) {
	case 0, 1:
		return power{}
	case 2:
		return power{form: floatInteger}
	case 3, 4, 5, 6:
		return drawDust(rng)
	}
	magnitude := minMagnitude
	for range 6 {
		magnitude += rng.IntN(3)
	}
	if rank < 64 {
		magnitude = min(magnitude+1, maxMagnitude)
	}
	return asPublished(rng, scaled(100_000_000_000_000_000+rng.Uint64N(900_000_000_000_000_000), magnitude))
}

// drawDust draws a remainder of a balance: at most 0.00001 tokens.
func drawDust(rng random) power {
	dust := power{amount: amount{baseUnits: 1 + rng.Uint64N(10_000_000_000_000)}, form: scientific}
	if rng.oneIn(2) {
		dust.tail = 1 + rng.Uint64N(9999)
	}
	return dust
}

// scaled returns mantissa × 10^(magnitude − 17). The mantissa has 18 digits.
func scaled(mantissa uint64, magnitude int) amount {
	if magnitude < 0 {
		return amount{baseUnits: mantissa / pow10(-magnitude-1)}
	}
	fraction := pow10(17 - magnitude)
	return amount{whole: mantissa / fraction, baseUnits: mantissa % fraction * pow10(magnitude+1)}
}

// asPublished gives a balance the precision that an upstream strategy publishes: whole
// tokens, four decimal places, a float's digits, 18 decimal places, or 22.
func asPublished(rng random, exact amount) power {
	switch roll := rng.IntN(100); {
	case roll < 25:
		return power{amount: amount{whole: exact.whole + 1}}
	case roll < 30:
		return power{amount: amount{whole: exact.whole + 1}, form: floatInteger}
	case roll < 45:
		exact.baseUnits -= exact.baseUnits % pow10(14)
	case roll < 85:
		exact.baseUnits -= exact.baseUnits % pow10(3)
	case roll < 98:
		exact.baseUnits = exact.baseUnits/10*10 + rng.Uint64N(10)
	default:
		return power{amount: exact, tail: 1 + rng.Uint64N(9999)}
	}
	return power{amount: exact}
}

// pow10 returns 10^n.
func pow10(n int) uint64 {
	result := uint64(1)
	for range n {
		result *= 10
	}
	return result
}
