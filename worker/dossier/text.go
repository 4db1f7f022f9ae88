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

var (
	// comment matches what pages do not show.
	comment = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`)
	// noAmount matches what has digits and is no amount: addresses and hashes, links, percentages and dates.
	noAmount = regexp.MustCompile(`0x[0-9a-f]+|https?://[^\s"'<>)]+|\d[\d.,]*\s?(?:%|percent)|\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}[/.]\d{1,2}[/.]\d{4}\b|` +
		`\b(?:\d{1,2}(?:st|nd|rd|th)? )?(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|` +
		`nov(?:ember)?|dec(?:ember)?)\.?,? (?:\d{1,2}(?:st|nd|rd|th)?,? )?(?:19|20)\d{2}\b`)
	// gluedUnit matches a unit right before or behind a number, as in 25,000usdc.
	gluedUnit = regexp.MustCompile(`([a-z]{3,})(\d+[,.]\d|\d{4,})|(\d)([a-z]{3,})`)
	// pointed matches thousands in groups with points, as in 25.000,00, and decimalComma a comma before a fraction.
	pointed      = regexp.MustCompile(`\b\d{1,3}(?:(?:\.\d{3})+,\d{1,2}|(?:\.\d{3}){2,})\b`)
	decimalComma = regexp.MustCompile(`(\d),(\d{1,2})(\D|$)`)
	// number matches a number with thousands in groups, a fraction, and a word for thousands, millions or billions.
	number = regexp.MustCompile(`\b(\d{1,3}(?:[,' _]\d{3})+|\d+)(\.\d+)?\s?(k|thousands?|mm?|mln|mio|millions?|bn?|billions?)?\b`)
)

// maxText bounds the text that is searched.
const maxText = 4 << 20

func textOf(f Facts) statedText {
	var text strings.Builder
	text.WriteString(f.Proposal.Title + "\n" + f.Proposal.Body)
	for _, t := range f.Topics {
		text.WriteString("\n" + t.Title + "\n" + t.BodyHTML)
	}
	s := statedText{lower: strings.ToLower(comment.ReplaceAllString(text.String()[:min(text.Len(), maxText)], " "))}
	plain := strings.NewReplacer("\u00a0", " ", "\u2009", " ", "\u202f", " ", "&nbsp;", " ", "\u2019", "'").Replace(s.lower)
	plain = gluedUnit.ReplaceAllString(noAmount.ReplaceAllString(plain, " "), "$1$3 $2$4")
	plain = pointed.ReplaceAllStringFunc(plain, strings.NewReplacer(".", "", ",", ".").Replace)
	zeros := map[string]int32{"k": 3, "t": 3, "m": 6, "b": 9} // by the first letter of a word
	for _, match := range number.FindAllStringSubmatch(decimalComma.ReplaceAllString(plain, "$1.$2$3"), -1) {
		digits := strings.NewReplacer(",", "", "'", "", " ", "", "_", "").Replace(match[1])
		n, err := decimal.NewFromString(digits + match[2])
		if err != nil || len(digits) > 80 {
			continue
		}
		s.numbers = append(s.numbers, n.Shift(zeros[match[3][:min(1, len(match[3]))]]))
	}
	return s
}

// states says what the text states of a payment, which is nothing where there is no text; the amount cannot be told where
// its unit is not known.
func (s statedText) states(target string, t governance.DossierTransfer) *governance.DossierInText {
	in := &governance.DossierInText{Target: new(s.has(target)), Recipient: new(s.has(t.To))}
	if t.Symbol != nil && t.Token != nil && !*in.Target {
		in.Target = new(s.has(*t.Symbol))
	}
	if t.Amount != nil && t.Decimals != nil {
		in.Amount = new(s.hasNumber(powerOf(*t.Amount)))
	}
	return in
}

// has reports whether the text has a word that is no part of a longer one.
func (s statedText) has(word string) bool {
	word = strings.ToLower(word)
	isWord := func(text string) bool { return strings.ContainsAny(text, "abcdefghijklmnopqrstuvwxyz0123456789") }
	for at := 0; word != ""; at++ {
		next := strings.Index(s.lower[at:], word)
		if next < 0 {
			break
		}
		at += next
		end := at + len(word)
		if !isWord(s.lower[max(0, at-1):at]) && !isWord(s.lower[end:min(end+1, len(s.lower))]) {
			return true
		}
	}
	return false
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
