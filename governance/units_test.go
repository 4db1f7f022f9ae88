package governance_test

import (
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/check"
)

// Sums and orders of units are those of decimals.
func FuzzUnits(f *testing.F) {
	f.Add("0", "0.000000000000000001")
	f.Add("1", "0.999999999999999999")
	f.Add("18446744073709551615.000000000000000001", "340282366920938463463374607431.768211455")
	f.Add("9999999999999999999999999999999999999999.999999999999999999", "9999999999999999999999999999999999999999.999999999999999999")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, roundedX, errX := governance.ParsePower(a)
		y, roundedY, errY := governance.ParsePower(b)
		if errX != nil || errY != nil || roundedX || roundedY {
			return
		}
		u, v := governance.UnitsOf(x), governance.UnitsOf(y)
		if got := u.Decimal(); !got.Equal(x) {
			t.Errorf("got %s of %s", got, x)
		}
		if got := u.Add(v).Decimal(); !got.Equal(x.Add(y)) {
			t.Errorf("got %s of %s and %s", got, x, y)
		}
		check.Want(t, x.Cmp(y), u.Cmp(v), x, y)
		if more := x.Add(decimal.New(1, -30)); governance.UnitsOf(more).Cmp(u) <= 0 {
			t.Errorf("%s is no more than %s", more, x)
		}
	})
}
