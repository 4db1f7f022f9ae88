package governance_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pnyx/governance"
	"pnyx/test/check"
)

func TestParsePowerReadsEveryFormOfNumberAndRoundsHalfUp(t *testing.T) {
	t.Parallel()
	exact := map[string]governance.Decimal{
		"0":       "0",
		"7":       "7",
		"+7":      "7",
		"007":     "7",
		"-0":      "0",
		"-0.0e5":  "0",
		"1.50":    "1.5",
		".5":      "0.5",
		"+.5":     "0.5",
		"5.":      "5",
		"0.1":     "0.1",
		"1e3":     "1000",
		"1E3":     "1000",
		"1e+3":    "1000",
		"1e003":   "1000",
		"12.5e1":  "125",
		"12.5e-1": "1.25",
		"100e-2":  "1",
		// As JavaScript prints what is small.
		"2.11e-16": "0.000000000000000211",
		"1e-18":    "0.000000000000000001",
		"1e39":     governance.Decimal("1" + strings.Repeat("0", 39)),
		// No float holds this.
		"12345678901234567890.123456789012345678": "12345678901234567890.123456789012345678",
		"9007199254740993":                        "9007199254740993",
		strings.Repeat("9", 40):                   governance.Decimal(strings.Repeat("9", 40)),
		strings.Repeat("0", 200) + "1":            "1",
		"1." + strings.Repeat("0", 200):           "1",
		"0." + strings.Repeat("0", 200) + "1e201": "1",
		"1" + strings.Repeat("0", 200) + "e-200":  "1",
		"0e300":                                   "0",
		"0e99999999999999999999":                  "0",
		"0.000e-99999999999999999999":             "0",
	}
	// It rounds half up at eighteen places.
	isRounded := map[string]governance.Decimal{
		"0.0000000000000000014":    "0.000000000000000001",
		"0.0000000000000000015":    "0.000000000000000002",
		"0.0000000000000000025":    "0.000000000000000003",
		"1.4999999999999999995":    "1.5",
		"0.9999999999999999999":    "1",
		"5e-19":                    "0.000000000000000001",
		"4.9e-19":                  "0",
		"1e-300":                   "0",
		"1e-99999999999999999999":  "0",
		"123e-9223372036854775808": "0",
	}
	for wantRounded, texts := range map[bool]map[string]governance.Decimal{false: exact, true: isRounded} {
		for text, want := range texts {
			got, rounded, err := governance.ParsePower(text)
			if err != nil || rounded != wantRounded || governance.DecimalOf(got) != want {
				t.Errorf("%q: got %s, rounded %t, %v, want %s, rounded %t", text, got, rounded, err, want, wantRounded)
			}
		}
	}
}

func TestParsePowerRefuses(t *testing.T) {
	t.Parallel()
	almost := strings.Repeat("9", 40) + ".9"
	for want, texts := range map[error][]string{
		nil:                    {almost},
		governance.ErrNegative: {"-1", "-0.5", "-1e-300", "-1e300"},
		governance.ErrTooLarge: {
			"1e40", "1e300", "1e999999999", "0.001e9223372036854775807", "1e99999999999999999999", "1" + strings.Repeat("0", 40),
			almost + strings.Repeat("9", 18), // rounding makes the forty-first digit
		},
		governance.ErrNotANumber: {
			"", " ", " 1", "1 ", "1\n", "+", "-", ".", "--1", ".-5", "1.+5", "1.2.3", "1,5", "1_000", "0x10", "e5", "1e", "1e+", "1e5.0", "1e5e5",
			"1e_5", "NaN", "Infinity", "null", "٣", "\x00", strings.Repeat("0", 257),
		},
	} {
		for _, text := range texts {
			got, rounded, err := governance.ParsePower(text)
			if !errors.Is(err, want) || want != nil && (!got.IsZero() || rounded) {
				t.Errorf("%q: got %s, rounded %t, %v, want error %v and nothing beside it", text, got, rounded, err, want)
			}
		}
	}
}

// TestParsePowerDoesNoArithmeticOnHostileExponents does not end within the time of a test if
// there is any: the numbers have two billion digits.
func TestParsePowerDoesNoArithmeticOnHostileExponents(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1e2147483647", "1e-2147483647", "0e2147483647", "9e999999999", "9e-999999999"} {
		for range 100 {
			_, _, _ = governance.ParsePower(text) // only that it ends matters here
			_, _, _ = governance.ParseUnits(text, governance.PowerScale)
		}
	}
}

func TestErrorsOfNumbersStayShort(t *testing.T) {
	t.Parallel()
	_, _, err := governance.ParsePower(strings.Repeat("x", 1<<20))
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("got an error of %d bytes, want at most 200", len(err.Error()))
	}
}

func TestParseUnitsReadsSmallestUnitsAlone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]governance.Decimal{
		"0":                         "0",
		"1":                         "0.000000000000000001",
		"1000000000000000000":       "1",
		"1500000000000000000":       "1.5",
		"1.5e18":                    "1.5",
		"2.000":                     "0.000000000000000002",
		"1e57":                      "1" + governance.Decimal(strings.Repeat("0", 39)),
		"0e300":                     "0",
		"123456789012345678901":     "123.456789012345678901",
		"+1000000000000000000":      "1",
		strings.Repeat("9", 40+18):  governance.Decimal(strings.Repeat("9", 40) + "." + strings.Repeat("9", 18)),
		"0001000000000000000000.0":  "1",
		"-0":                        "0",
		"340282366920938463463.e-0": "340.282366920938463463",
	} {
		got, _, err := governance.ParseUnits(text, governance.PowerScale)
		if err != nil || governance.DecimalOf(got) != want {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
	for want, texts := range map[error][]string{
		governance.ErrNotANumber: {"", "0.5", "1e-1", "1e-300", "1e-99999999999", "ten"},
		governance.ErrNegative:   {"-1"},
		governance.ErrTooLarge:   {"1e58", "1e99999999999", "1" + strings.Repeat("0", 58)},
	} {
		for _, text := range texts {
			if got, _, err := governance.ParseUnits(text, governance.PowerScale); !errors.Is(err, want) || !got.IsZero() {
				t.Errorf("%q: got %s, %v, want error %v", text, got, err, want)
			}
		}
	}
}

func TestDecimalOfIsCanonicalToTheLastDigit(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"0", "0.0", "0e7", "-0", "-0.00", "0e-9"},
		{"1", "1.0", "1.000", "10e-1", "0.1e1", "001"},
		{"100", "1e2", "100.00", "0.01e4"},
		{"0.5", ".5", "0.50", "5e-1"},
		{"-2.5", "-2.50", "-25e-1"},
		{"1234567890123456789012345678901234567890.123456789012345678"},
	} {
		for _, text := range same {
			check.Want(t, governance.Decimal(same[0]), governance.DecimalOf(num(text)), text)
		}
	}
	// Products and quotients carry more places than voting power does.
	check.Want(t, governance.Decimal("0."+strings.Repeat("0", 29)+"1"), governance.DecimalOf(num("1e-30")))
}

func TestParseWholeReadsIntegersInAnyNotation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{
		"0": 0, "-0": 0, "0.0": 0, "5": 5, "5.0": 5, "5.000": 5, "5e0": 5, "0.5E1": 5, "500e-2": 5, "1e3": 1000,
		"18446744073709551615": math.MaxUint64, "18446744073709551615.0": math.MaxUint64, "1.8446744073709551615e19": math.MaxUint64,
	} {
		check.Want(t, want, check.Must(governance.ParseWhole(text))(t), text)
	}
	for _, text := range []string{
		"", " ", "five", "5.5", "-5", "5e-1", "18446744073709551616", "1e20", "1e999999999", "1e-999999999", "0x5", "5_0", "NaN", "Infinity",
	} {
		if got, err := governance.ParseWhole(text); !errors.Is(err, governance.ErrNotANumber) || got != 0 {
			t.Errorf("%q: got %d, %v, want %v", text, got, err, governance.ErrNotANumber)
		}
	}
}

func FuzzParseWhole(f *testing.F) {
	for _, text := range []string{"5", "5.0", "5e1", "-0", "18446744073709551616", "1e-400", "0.50"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := governance.ParseWhole(text)
		power, _, powerErr := governance.ParsePower(text)
		if err == nil && (powerErr != nil || governance.DecimalOf(power) != governance.CountOf(got)) {
			t.Fatalf("%q: got %d, want %s, %v", text, got, power, powerErr)
		}
	})
}

func FuzzParsePower(f *testing.F) {
	for _, text := range []string{
		"0", "1.5", "-1", "2.11e-16", "1e40", "1e999999999", "0e300", "1e-300", ".5", "5.", "+7", "x",
		"0.0000000000000000005", "9007199254740993", strings.Repeat("9", 41), "−5", "1e+", "0x1p-2",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		power, rounded, err := governance.ParsePower(text)
		if err != nil {
			if !power.IsZero() || rounded {
				t.Fatalf("%q: got %s, rounded %t beside %v", text, power, rounded, err)
			}
			return
		}
		if power.Exponent() != -governance.PowerScale { // which fingerprints are made with
			t.Fatalf("%q: got exponent %d, want %d", text, power.Exponent(), -governance.PowerScale)
		}
		canonical := string(governance.DecimalOf(power))
		if power.IsNegative() {
			t.Fatalf("%q: got %s, want no negative number", text, canonical)
		}
		if whole, places, _ := strings.Cut(canonical, "."); len(whole) > 40 || len(places) > governance.PowerScale {
			t.Fatalf("%q: got %s, want at most 40 digits and 18 places", text, canonical)
		}
		again, rounded, err := governance.ParsePower(canonical)
		if err != nil || rounded || string(governance.DecimalOf(again)) != canonical {
			t.Fatalf("%q: %s reads as %s, rounded %t, %v", text, canonical, again, rounded, err)
		}
	})
}
