package rules_test

import (
	"testing"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// num parses a decimal literal; it panics on any other text.
func num(text string) decimal.Decimal {
	return decimal.RequireFromString(text)
}
