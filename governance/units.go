package governance

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/shopspring/decimal"
)

// Units is voting power in units of 10^-PowerScale, the least significant word first. Sums of a large vote allocate nothing
// and cannot overflow: power has maxPowerDigits digits before the decimal point, which leaves room for the sums of sums of a
// billion ballots.
type Units [4]uint64

const unitsBytes = 32

// UnitsOf returns d in units, rounded up: no power reaches d unless it reaches the result, which is 0 for what is
// negative, and the largest Units for what is beyond them.
func UnitsOf(d decimal.Decimal) (u Units) {
	whole := d.Shift(PowerScale).Ceil().BigInt()
	switch {
	case whole.Sign() <= 0:
		return Units{}
	case whole.BitLen() > 8*unitsBytes:
		return Units{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}
	}
	text := whole.FillBytes(make([]byte, unitsBytes))
	for i := range u {
		u[len(u)-1-i] = binary.BigEndian.Uint64(text[8*i:])
	}
	return u
}

// StoredUnits returns the units of a Decimal(76, 18) as the 32 bytes that ClickHouse stores.
func StoredUnits(stored string) (u Units) {
	text := []byte(stored)
	for i := range u {
		u[i] = binary.LittleEndian.Uint64(text[8*i:])
	}
	return u
}

// Add returns the sum.
func (u Units) Add(v Units) Units {
	var carry uint64
	u[0], carry = bits.Add64(u[0], v[0], 0)
	u[1], carry = bits.Add64(u[1], v[1], carry)
	u[2], carry = bits.Add64(u[2], v[2], carry)
	u[3], _ = bits.Add64(u[3], v[3], carry)
	return u
}

// Cmp compares as cmp.Compare does.
func (u Units) Cmp(v Units) int {
	return cmp.Or(cmp.Compare(u[3], v[3]), cmp.Compare(u[2], v[2]), cmp.Compare(u[1], v[1]), cmp.Compare(u[0], v[0]))
}

// Decimal returns the power as a decimal.
func (u Units) Decimal() decimal.Decimal {
	text := make([]byte, 0, unitsBytes)
	for _, word := range slices.Backward(u[:]) {
		text = binary.BigEndian.AppendUint64(text, word)
	}
	return decimal.NewFromBigInt(new(big.Int).SetBytes(text), -PowerScale)
}
