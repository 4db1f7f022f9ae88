package explore_test

import (
	"testing"
	"time"

	"pnyx/explore"
	"pnyx/governance"
	"pnyx/test/env"
)

func TestNumbersAreCutForReading(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "7": "7", "1234": "1,234", "999999": "999,999", "999999.999999": "999,999.99",
		"1000000": "1M", "1234567.5": "1.23M", "12345678901": "12.34B", "9999999999999": "9.99T", "12345678901234567890": "12,345,678.9T",
		"0.5": "0.5", "0.123456789": "0.1234", "0.0001": "0.0001", "0.00009": "< 0.0001", "0.000000000000000001": "< 0.0001",
		"3.001": "3", "3.019": "3.01", "100.10": "100.1", "0.0": "0",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			env.Want(t, want, explore.Short(text))
		})
	}
}

// The amount of a token without a symbol is in units where its decimals are known.
func TestTokensAreNamed(t *testing.T) {
	t.Parallel()
	const at, brief = "0x00000000000000000000000000000000000000b2", "0x000000…0000b2"
	one := governance.Decimal("1")
	for want, of := range map[string]governance.DossierTransfer{
		"native money":                        {Symbol: new("native"), Decimals: new(18), Amount: &one},
		"USDC":                                {Token: new(at), Symbol: new("USDC"), Decimals: new(6), Amount: &one},
		brief:                                 {Token: new(at), Decimals: new(6), Amount: &one},
		"smallest units of " + brief:          {Token: new(at), Amount: &one},
		"a token that the call does not name": {Token: new("unstated")},
	} {
		env.Want(t, want, explore.TokenOf(of))
	}
}

func TestSharesAreExactUntilTheyAreCut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		part, total governance.Decimal
		want        string
	}{
		"half":                 {"1", "2", "50%"},
		"a third, not rounded": {"2", "3", "66.66%"},
		"almost all":           {"99999999999999999999.999999999999999999", "100000000000000000000", "99.99%"},
		"all":                  {"0.000000000000000003", "0.000000000000000003", "100%"},
		"almost nothing":       {"0.000000000000000001", "1000000", "< 0.01%"},
		"nothing":              {"0", "5", "0%"},
		"of nothing":           {"0", "0", "0%"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env.Want(t, test.want, explore.Percent(explore.Number(test.part), explore.Number(test.total)))
		})
	}
}

func TestAnEndToComeHasNotPassed(t *testing.T) {
	t.Parallel()
	past, coming := governance.TimestampOf(time.Now().Add(-time.Hour)), governance.TimestampOf(time.Now().Add(time.Hour))
	env.Want(t, "ends", explore.Ends(governance.Active, &coming))
	env.Want(t, "ended", explore.Ends(governance.Closed, &past))
	env.Want(t, "ended", explore.Ends(governance.Closed, nil))
	env.Want(t, "was to end", explore.Ends(governance.Closed, &coming), "canceled before")
}
