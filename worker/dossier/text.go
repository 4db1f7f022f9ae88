package dossier

import (
	"regexp"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// statedText is what the text of a proposal and of its topics states.
type statedText struct {
	// lower is the text in lower case; empty where there is none.
	lower string
	// numbers are the numbers in it.
	numbers []decimal.Decimal
}

// number matches a number as people write it: with separators of thousands, a fraction, and a
// suffix for thousands, millions or billions.
var number = regexp.MustCompile(`(?i)\b(\d{1,3}(?:[,' _]\d{3})+|\d+)(\.\d+)?\s?(k|m|mm|million|bn|b|billion|thousand)?\b`)

// maxText bounds the text that is searched.
const maxText = 4 << 20

func textOf(f Facts) statedText {
	var text strings.Builder
	text.WriteString(f.Proposal.Title + "\n" + f.Proposal.Body)
	for _, t := range f.Topics {
		text.WriteString("\n" + t.Title + "\n" + t.BodyHTML)
	}
	s := statedText{lower: strings.ToLower(text.String()[:min(text.Len(), maxText)])}
	plain := gluedUnit.ReplaceAllString(hexWord.ReplaceAllString(s.lower, " "), "$1 $2")
	for _, match := range number.FindAllStringSubmatch(plain, -1) {
		digits := strings.NewReplacer(",", "", "'", "", " ", "", "_", "").Replace(match[1])
		n, err := decimal.NewFromString(digits + match[2])
		if err != nil || len(digits) > 80 {
			continue
		}
		switch match[3] {
		case "k", "thousand":
			n = n.Shift(3)
		case "m", "mm", "million":
			n = n.Shift(6)
		case "b", "bn", "billion":
			n = n.Shift(9)
		}
		s.numbers = append(s.numbers, n)
	}
	return s
}

// hexWord matches addresses and hashes, whose digits are no amounts.
var hexWord = regexp.MustCompile(`0x[0-9a-f]+`)

// gluedUnit matches a unit right behind a number, as in 25,000usdc.
var gluedUnit = regexp.MustCompile(`(\d)([a-z]{3,})`)

// states says what the text states of a payment; nil parts cannot be told.
func (s statedText) states(target string, t governance.DossierTransfer) *governance.DossierInText {
	if strings.TrimSpace(s.lower) == "" {
		return &governance.DossierInText{}
	}
	has := func(text string) *bool { found := strings.Contains(s.lower, strings.ToLower(text)); return &found }
	in := &governance.DossierInText{Target: has(target), Recipient: has(t.To)}
	if t.Symbol != nil && t.Token != nil && !*in.Target {
		in.Target = has(*t.Symbol)
	}
	if t.Amount != nil && t.Decimals != nil {
		found := s.hasNumber(powerOf(*t.Amount))
		in.Amount = &found
	}
	return in
}

func (s statedText) hasNumber(amount decimal.Decimal) bool {
	return slices.ContainsFunc(s.numbers, amount.Equal)
}

// magnitude returns a number of the text that has the digits of an amount and another power of
// ten, if the amount itself is not stated.
func (s statedText) magnitude(amount decimal.Decimal) (stated decimal.Decimal, found bool) {
	if !amount.IsPositive() || s.hasNumber(amount) {
		return stated, false
	}
	for _, n := range s.numbers {
		if digits(n) == digits(amount) && n.GreaterThanOrEqual(decimal.NewFromInt(100)) {
			return n, true
		}
	}
	return stated, false
}

// digits returns the digits of a number without zeros at its ends.
func digits(d decimal.Decimal) string { return strings.Trim(d.Coefficient().String(), "0") }
