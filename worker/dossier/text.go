package dossier

import (
	"regexp"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// statedText is what the text of a proposal and of its topics states.
type statedText struct {
	// lower is the text in lower case; empty where there is none.
	lower string
	// words and numbers are those in it, byDigits is the first number from 100 on by its digits: a text may have
	// thousands, and a proposal as many payments.
	words    map[string]bool
	numbers  map[string]bool
	byDigits map[string]decimal.Decimal
}

var (
	// comment matches what pages do not show.
	comment = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`)
	// noAmount matches what has digits and is no amount: addresses and hashes, links, percentages and dates.
	noAmount = regexp.MustCompile(`0x[0-9a-f]+|https?://[^\s"'<>)]+|\d[\d.,]*\s?(?:%|percent)|` +
		`\b(?:\d{4}-\d{2}-\d{2}|\d{1,2}[/.]\d{1,2}[/.]\d{4}|\d{1,2}(?:st|nd|rd|th)?,? (?:19|20)\d{2})\b`)
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

// textOf reads the text of a proposal that executes something, and of its topics.
func textOf(f Facts) (s statedText) {
	if len(f.Actions) == 0 {
		return s
	}
	var text strings.Builder
	text.WriteString(f.Proposal.Title + "\n" + f.Proposal.Body)
	for _, t := range f.Topics {
		text.WriteString("\n" + t.Title + "\n" + t.BodyHTML)
	}
	shown := comment.ReplaceAllString(text.String()[:min(text.Len(), maxText)], " ")
	s = statedText{strings.ToLower(shown), map[string]bool{}, map[string]bool{}, map[string]decimal.Decimal{}}
	for word := range strings.FieldsFuncSeq(s.lower, isSign) {
		s.words[word] = true
	}
	plain := strings.NewReplacer("\u00a0", " ", "\u2009", " ", "\u202f", " ", "&nbsp;", " ", "\u2019", "'").Replace(s.lower)
	plain = gluedUnit.ReplaceAllString(noAmount.ReplaceAllString(plain, " "), "$1$3 $2$4")
	plain = pointed.ReplaceAllStringFunc(plain, strings.NewReplacer(".", "", ",", ".").Replace)
	ungrouped := strings.NewReplacer(",", "", "'", "", " ", "", "_", "")
	zeros := map[string]int32{"k": 3, "t": 3, "m": 6, "b": 9} // by the first letter of a word
	for _, match := range number.FindAllStringSubmatch(decimalComma.ReplaceAllString(plain, "$1.$2$3"), -1) {
		text := ungrouped.Replace(match[1] + match[2])
		const most = 120 // an amount has 78 digits, and as many decimal places
		n, err := decimal.NewFromString(text[:min(most, len(text))])
		if err != nil || len(text) > most {
			continue
		}
		n = n.Shift(zeros[match[3][:min(1, len(match[3]))]])
		s.numbers[n.String()] = true
		if _, is := s.byDigits[digits(n)]; !is && n.GreaterThanOrEqual(decimal.NewFromInt(100)) {
			s.byDigits[digits(n)] = n
		}
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

// has reports whether the text has a word that is no part of a longer one. A word with signs in it may be part of one.
func (s statedText) has(word string) bool {
	word = strings.ToLower(word)
	return s.words[word] || strings.ContainsFunc(word, isSign) && strings.Contains(s.lower, word)
}

// isSign reports whether a character of a text in lower case is neither a letter nor a digit of ASCII.
func isSign(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }

func (s statedText) hasNumber(amount decimal.Decimal) bool { return s.numbers[amount.String()] }

// magnitude returns a number of the text that has the digits of an amount and another power of
// ten, if the amount itself is not stated.
func (s statedText) magnitude(amount decimal.Decimal) (stated decimal.Decimal, found bool) {
	if amount.IsPositive() && !s.hasNumber(amount) {
		stated, found = s.byDigits[digits(amount)]
	}
	return stated, found
}

// digits returns the digits of a number without zeros at its ends.
func digits(d decimal.Decimal) string { return strings.Trim(d.Coefficient().String(), "0") }
