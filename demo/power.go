package demo

import (
	"bytes"
	"strconv"
)

// atomsPerUnit is how many of the smallest parts of voting power make one.
const atomsPerUnit = 1_000_000_000_000_000_000

// Magnitudes of voting power, as powers of ten.
const (
	leastMagnitude = -4
	mostMagnitude  = 8
)

// amount is an exact sum of voting power. Two words hold any sum that can occur
// here: 10^9 units a ballot leave room for 10^10 ballots.
type amount struct {
	units uint64
	atoms uint64 // below atomsPerUnit
}

func (a amount) plus(b amount) amount {
	sum := amount{a.units + b.units, a.atoms + b.atoms}
	if sum.atoms >= atomsPerUnit {
		sum.units++
		sum.atoms -= atomsPerUnit
	}
	return sum
}

func (a amount) exceeds(b amount) bool {
	return a.units > b.units || a.units == b.units && a.atoms > b.atoms
}

// append appends the amount as a decimal number with no more digits than needed.
func (a amount) append(text []byte) []byte {
	text = strconv.AppendUint(text, a.units, 10)
	if a.atoms == 0 {
		return text
	}
	text = appendPadded(append(text, '.'), a.atoms, 18)
	return bytes.TrimRight(text, "0")
}

// appendAtoms appends the amount as an integer of smallest parts, as a token
// contract counts.
func (a amount) appendAtoms(text []byte) []byte {
	if a.units == 0 {
		return strconv.AppendUint(text, a.atoms, 10)
	}
	return appendPadded(strconv.AppendUint(text, a.units, 10), a.atoms, 18)
}

// appendPadded appends n with leading zeros up to a number of digits.
func appendPadded(text []byte, n uint64, digits int) []byte {
	var buffer [20]byte
	number := strconv.AppendUint(buffer[:0], n, 10)
	for range digits - len(number) {
		text = append(text, '0')
	}
	return append(text, number...)
}

// form is a way in which upstream systems write a number.
type form uint8

const (
	plain      form = iota // 1640.75
	pointed                // 7.0, an integer that went through a float
	scientific             // 5.127e-06
)

// power is the voting power of a ballot and the way it is written.
type power struct {
	amount amount
	form   form
	// tail holds four decimal places behind the eighteenth, 0 for none.
	tail uint64
}

// counted is the power to count: places behind the eighteenth are rounded half up.
func (p power) counted() amount {
	if p.tail >= 5000 {
		return p.amount.plus(amount{atoms: 1})
	}
	return p.amount
}

// append appends the power as the JSON number that upstream publishes.
func (p power) append(text []byte) []byte {
	switch {
	case p.form == scientific && p.amount.units == 0 && p.amount.atoms > 0:
		return p.appendScientific(text)
	case p.form == pointed && p.amount.atoms == 0:
		return append(p.amount.append(text), ".0"...)
	case p.tail > 0:
		text = append(strconv.AppendUint(text, p.amount.units, 10), '.')
		return appendPadded(appendPadded(text, p.amount.atoms, 18), p.tail, 4)
	}
	return p.amount.append(text)
}

func (p power) appendScientific(text []byte) []byte {
	var buffer [24]byte
	digits := strconv.AppendUint(buffer[:0], p.amount.atoms, 10)
	exponent := 18 - (len(digits) - 1)
	if p.tail > 0 {
		digits = appendPadded(digits, p.tail, 4)
	}
	digits = bytes.TrimRight(digits, "0")
	text = append(text, digits[0])
	if len(digits) > 1 {
		text = append(append(text, '.'), digits[1:]...)
	}
	return appendPadded(append(text, "e-"...), natural(exponent), 2)
}

// drawPower draws a voting power: magnitudes spread like those of token balances
// (their logarithm nearly normal), more for the members who vote most, in the
// digits that upstream systems give.
func drawPower(d dice, rank uint64) power {
	switch d.IntN(1000) {
	case 0, 1:
		return power{}
	case 2:
		return power{form: pointed}
	case 3, 4, 5, 6:
		return drawDust(d)
	}
	magnitude := leastMagnitude
	for range 6 {
		magnitude += d.IntN(3)
	}
	if rank < 64 {
		magnitude = min(magnitude+1, mostMagnitude)
	}
	return written(d, scaled(100_000_000_000_000_000+d.Uint64N(900_000_000_000_000_000), magnitude))
}

// drawMembership draws the power of one who holds a few memberships.
func drawMembership(d dice) power {
	return power{amount: amount{units: natural(min(d.heavy(3), 20))}}
}

// drawDust draws what is left of a balance that was moved away.
func drawDust(d dice) power {
	dust := power{amount: amount{atoms: 1 + d.Uint64N(10_000_000_000_000)}, form: scientific}
	if d.roll(2) {
		dust.tail = 1 + d.Uint64N(9999)
	}
	return dust
}

// scaled returns mantissa × 10^(magnitude − 17), where mantissa has 18 digits.
func scaled(mantissa uint64, magnitude int) amount {
	if magnitude < 0 {
		return amount{atoms: mantissa / tenTo(-magnitude-1)}
	}
	fraction := tenTo(17 - magnitude)
	return amount{units: mantissa / fraction, atoms: mantissa % fraction * tenTo(magnitude+1)}
}

// written gives an exact balance the digits that one of the upstream strategies
// would publish: whole tokens, cents, a float's digits, or all of them.
func written(d dice, exact amount) power {
	switch roll := d.IntN(100); {
	case roll < 25:
		return power{amount: amount{units: exact.units + 1}}
	case roll < 30:
		return power{amount: amount{units: exact.units + 1}, form: pointed}
	case roll < 45:
		exact.atoms -= exact.atoms % tenTo(14)
	case roll < 85:
		exact.atoms -= exact.atoms % tenTo(3)
	case roll < 98:
		exact.atoms = exact.atoms/10*10 + d.Uint64N(10)
	default:
		return power{amount: exact, tail: 1 + d.Uint64N(9999)}
	}
	return power{amount: exact}
}

func tenTo(n int) uint64 {
	result := uint64(1)
	for range n {
		result *= 10
	}
	return result
}
