package governance_test

import (
	"testing"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// num is a decimal written out; it panics on what is none.
func num(text string) decimal.Decimal {
	return decimal.RequireFromString(text)
}

func nums(texts ...string) []decimal.Decimal {
	numbers := make([]decimal.Decimal, len(texts))
	for i, text := range texts {
		numbers[i] = num(text)
	}
	return numbers
}
