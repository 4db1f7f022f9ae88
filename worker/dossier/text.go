package dossier

import (
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// statedText is what the text of a proposal and of its topics states.
type statedText struct {
	// lower is the text in lower case; empty where there is none. Of a longer one, which is cut, the rest is not read.
	lower string
	cut   bool
	// words are the words in it. numbers are the amounts with their unit, empty where the text states none.
	// byDigits is the first amount of a unit with some digits, of an empty unit only from 100 on: a text may have
	// thousands of amounts. doubtful has amounts such as 1.500, read as 1500.
	words    map[string]bool
	numbers  map[string]string
	doubtful map[string]bool
	byDigits map[string]decimal.Decimal
}

var (
	// comment and tag match what pages do not show.
	comment = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`)
	tag     = regexp.MustCompile(`</?[a-z][^<>]*>`)
	// noAmount matches addresses and hashes, links, times, dates, versions, percentages and the numbers of lists. A
	// percentage comes behind what it may begin with: of a list of dates, each would be read to the end of the
	// list.
	noAmount = regexp.MustCompile(`0x[0-9a-f]+|https?://[^\s"'<>)]+|\d{1,2}:\d{2}(?::\d{2})?\b|` +
		`\b(?:19|20)\d{2}[-/.–](?:\d{1,2}[-/.]\d{1,2}|\d{2}|20\d{2})\b|\b\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)?\d{2}\b|` +
		`\d+\s?[年月日号號년월일]|\bv?\d+(?:\.\d+){2,}|\d[\d.,]*\s?(?:%|percent\b|bps\b|basis points)|(?m:^[\s>*-]*\d{1,3}[.)]\s)`)
	// gluedUnit matches a unit right before or behind a number, as in 25,000usdc, and how often there is one, as in 3x25,000.
	gluedUnit = regexp.MustCompile(`([a-z]{3,})(\d+[,.]\d|\d{4,}|\d+[km]\b)|(\d)([a-z]{3,})|(\dx)(\d)`)
	// pointed matches thousands in groups with points, as in 25.000,00, and decimalComma and zeroComma a comma before a fraction.
	pointed      = regexp.MustCompile(`\b\d{1,3}(?:(?:\.\d{3})+,\d{1,2}|(?:\.\d{3}){2,})\b`)
	decimalComma = regexp.MustCompile(`(\d),(\d{1,2}|\d{4,})(\D|$)`)
	zeroComma    = regexp.MustCompile(`\b0,(\d{3}(?:\D|$))`)
	// underscore matches one in a number, lakhs the groups of India, as in 2,50,000.
	underscore = regexp.MustCompile(`(\d)_(\d)`)
	lakhs      = regexp.MustCompile(`\b\d{1,2}(?:,\d{2})+,\d{3}\b`)
	// pointless matches a fraction without its zero, powered a range whose power of ten stands behind its end alone, and halves half of one.
	pointless = regexp.MustCompile(`(^|[\s(\[|$€£¥~≈])\.(\d)`)
	powered   = regexp.MustCompile(`(\d)([-–—]\s?[$€£]?\d[\d.,]*\s?)(k|thousand|m[mn]?|million|bn?|billion)\b`)
	halves    = regexp.MustCompile(`\b(and )?(?:a )?half[\s-](?:an? )?(thousand|million|billion)\b`)
	// inWords matches a number from a hundred on in English words.
	inWords = regexp.MustCompile(`\b(?:(?:a|` + countingWords + `)(?:[\s-]+(?:and[\s-]+)?))+(?:hundred|thousand|[mb]illion)\b` +
		`(?:[\s-]+(?:and[\s-]+)?(?:` + countingWords + `)\b)*`)
	// number matches a number with thousands in groups, a fraction, and a word for a power of ten: the groups from the third on.
	number = regexp.MustCompile(`\b(\d{1,3}(?:[,' ]\d{3})+|\d+)(\.\d+)?(?:\s?(?:(k|thousands?|tausend)|(m[mn]?|mln|mio|million(?:s|en)?|mill[oó]n(?:es)?|milh(?:ão|ões)|mil[i]on[ei])|` +
		`(bn?|billions?|mrd|milliarden?|milliards?)|(lakhs?)|(crores?))\b|\s?(?:(万|萬|만)|(亿|億|억)|(тыс)|(млн)|(млрд))|e(\d{1,2})\b|\b)`)
)

const (
	// countingWords are those of numbers, from zero: up to twenty by one, then by ten, then the powers of ten.
	countingWords = `zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|` +
		`thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion`

	months = `jan(?:uary|uar|vier)?|feb(?:ruary|ruar)?|f[ée]vrier|mar(?:ch|s|zo)?|märz|apr(?:il)?|avril|abril|may|mai|mayo|june?|juni|juin|junio|july?|` +
		`juli|juillet|julio|aug(?:ust)?|août|agosto|sept?(?:ember|embre|iembre)?|o[ck]t(?:ober|obre|ubre)?|nov(?:ember|embre|iembre)?|de[cz](?:ember|embre|iembre)?|` +
		`(?:янв|фев|мар|апр|май|мая|июн|июл|авг|сен|окт|ноя|дек)[а-я]*`
	// identified are things that any number names, ordinal those that few follow, countable those that come in numbers.
	identified = `[a-z]{1,2}ip|e[ir][pc]|ep|proposal|prop|block|chain|network|domain|snapshot|nonce|topic|post|thread|issue|pr|id|chainid|no|nr|slot|timestamp|pid|eid`
	ordinal    = `version|ver|v|phase|season|epoch|round|cycle|section|article|clause|step|stage|tranche|milestone|option|part|table|figure|fig|appendix|page|` +
		`week|day|month|year|quarter|q|h|fy|level|tier|layer|vote|number|role|type|group|cohort|batch|wave|track`
	countable = `(?:milli)?seconds?|secs?|min(?:ute)?s?|hours?|hrs?|days?|weeks?|wks?|months?|quarters?|years?|yrs?|decades?|blocks?|epochs?|slots?|jours?|mois|` +
		`ans|tage?n?|monate?n?|jahre?n?|wochen?|días?|meses|años?|votes?|voters?|ballots?|members?|people|persons?|signers?|signatures?|signatories|owners?|` +
		`keyholders?|delegates?|seats?|councils?|councill?ors|multisigs?|proposals?|contributors?|grantees?|recipients?|projects?|protocols?|teams?|chains?|networks?|` +
		`wallets?|address(?:es)?|contracts?|transactions?|txs?|calls?|actions?|steps?|phases?|milestones?|seasons?|rounds?|cycles?|participants?|` +
		`applications?|applicants?|users?|holders?|nodes?|operators?|validators?|points?|pages?|words?|characters?|decimals?|times|options|choices|` +
		`candidates?|companies|countries|meetings?|calls?|events?|am|pm|utc|gmt|cet|est|gwei|wei|gas`
)

var (
	// money matches a currency before a number, and unit the word behind one. A year has one of few before it.
	money = regexp.MustCompile(`(?:[$€£¥₿Ξξ]|\b(?:usd[a-z]?|eur[a-z]?|dai|gbp|chf))\s?$`)
	unit  = regexp.MustCompile(`^[\s-]?(?:[$€£¥₿Ξξ]|[\p{L}][\p{L}\d.₮]*)`)
	// inDate and ofDate match what stands before a year, and what makes a number the day of a month.
	inDate = regexp.MustCompile(`(?:\b(?:in|since|until|till|during|year|fy|eoy|[qh][1-4])[\s-]?|(?:^|[^\p{L}])(?:` + months + `)\.?(?:\s\d{1,2}(?:st|nd|rd|th)?)?,?\s?)$`)
	ofDate = regexp.MustCompile(`^\.?\s?(?:of\s|de\s)?(?:` + months + `)(?:[^\p{L}]|$)`)
	// identifier, place, count, shareOf and ofShare match what stands around a number that numbers or counts something, or is part of two.
	identifier = regexp.MustCompile(`(?:(?:^|[^\p{L}\d])(?:[a-z]{1,6}[-–]|(?:` + identified + `)s?[\s-]?(?:id|index|number|no|nr|height)?[\s:.]{0,2})#?|[#№]\s?)$`)
	place      = regexp.MustCompile(`(?:^|[^\p{L}\d])(?:` + ordinal + `)s?[\s:.]{0,2}#?$`)
	count      = regexp.MustCompile(`^(?:\s?(?:-|–|to|or)\s?\d[\d.,]*)?[\s-]?(?:(?:calendar|business|working|full|additional|more|new|eligible)\s)?(?:` + countable + `)(?:[^\p{L}\d]|$)`)
	shareOf    = regexp.MustCompile(`^(?:\s?/\s?|[\s-](?:out )?of[\s-])\d`)
	ofShare    = regexp.MustCompile(`\d(?:\s?/\s?|[\s-](?:out )?of[\s-])$`)
	// linked matches what stands between numbers of one kind, as in "blocks 100 to 200".
	linked = regexp.MustCompile(`^\s?(?:-|–|to|and|,|&)\s?$`)
)

// maxText and maxNumbers bound the text that is searched, and the numbers that are read in it.
const (
	maxText    = 1 << 20
	maxNumbers = 10_000
)

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
	s = statedText{
		lower: strings.ToLower(shown), cut: text.Len() > maxText || record.HasLeftOut(shown), words: map[string]bool{}, numbers: map[string]string{}, doubtful: map[string]bool{},
		byDigits: map[string]decimal.Decimal{},
	}
	for word := range strings.FieldsFuncSeq(s.lower, isSign) {
		s.words[word] = true
	}
	s.readNumbers(plainOf(s.lower), unitsOf(f))
	return s
}

// plainOf returns a text in which each number is written as in English, without what has digits and is no amount.
func plainOf(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) { // most have no number
		if strings.ContainsFunc(line, unicode.IsDigit) || namesPower(line) {
			lines.WriteString(line)
		}
	}
	text = strings.Map(plainRune, html.UnescapeString(tag.ReplaceAllString(lines.String(), " ")))
	if strings.Contains(text, "_") {
		text = strings.ReplaceAll(underscore.ReplaceAllString(text, "$1$2"), "_", " ")
	}
	if strings.Contains(text, ".") {
		text = pointless.ReplaceAllString(text, "${1}0.$2")
		text = pointed.ReplaceAllStringFunc(text, strings.NewReplacer(".", "", ",", ".").Replace)
	}
	if strings.Contains(text, ",") {
		text = lakhs.ReplaceAllStringFunc(text, func(n string) string { return strings.ReplaceAll(n, ",", "") })
	}
	text = zeroComma.ReplaceAllString(text, "0.$1")
	text = decimalComma.ReplaceAllString(gluedUnit.ReplaceAllString(noAmount.ReplaceAllString(text, " "), "$1$3$5 $2$4$6"), "$1.$2$3")
	text = powered.ReplaceAllString(text, "$1$3$2$3")
	if namesPower(text) {
		text = halves.ReplaceAllStringFunc(text, func(half string) string {
			if strings.HasPrefix(half, "and") {
				return "" // one and a half: not read
			}
			return "0.5 " + half[strings.LastIndexAny(half, " -")+1:]
		})
		text = inWords.ReplaceAllStringFunc(text, numberOf)
	}
	return text
}

func namesPower(text string) bool {
	return slices.ContainsFunc([]string{"hundred", "thousand", "million", "billion"}, func(word string) bool { return strings.Contains(text, word) })
}

// plainRune returns a character as in English: digits of any script, spaces of any width. It returns -1 to drop a
// character without width, or one that marks text as bold.
func plainRune(r rune) rune {
	switch {
	case r == '*', r == '`':
		return -1
	case r < utf8.RuneSelf:
		return r
	case strings.ContainsRune("\u200b\u200c\u200d\u2060\ufeff\u00ad", r):
		return -1
	case unicode.Is(unicode.Zs, r):
		return ' '
	case r == '\u2019':
		return '\''
	case strings.ContainsRune("，٬", r):
		return ','
	case strings.ContainsRune("．٫", r):
		return '.'
	case unicode.IsDigit(r):
		zero := r // each script has its digits in order, from a multiple of ten after its first one
		for unicode.IsDigit(zero-1) && r-zero < 49 {
			zero--
		}
		return '0' + (r-zero)%10
	}
	return r
}

func numberOf(words string) string {
	sum, part := int64(0), int64(0)
	for word := range strings.FieldsFuncSeq(words, isSign) {
		switch at := int64(slices.Index(strings.Split(countingWords, "|"), word)); {
		case word == "a":
			part = 1
		case at >= 29: // thousand and beyond
			power := int64(1)
			for range at - 28 {
				power *= 1000
			}
			sum, part = sum+max(part, 1)*power, 0
		case at == 28:
			part = max(part, 1) * 100
		case at > 20:
			part += (at - 18) * 10
		case at >= 0:
			part += at
		}
	}
	return strconv.FormatInt(sum+part, 10)
}

func unitsOf(f Facts) map[string]bool {
	units := map[string]bool{}
	for word := range strings.FieldsSeq("usd eur euro euros gbp chf dollars dollar stablecoins tokens token coins ether native") {
		units[word] = true
	}
	if f.Observed != nil {
		for _, a := range f.Observed.Addresses {
			units[strings.ToLower(a.Symbol)] = a.Symbol != ""
		}
	}
	return units
}

func (s *statedText) readNumbers(text string, units map[string]bool) {
	ungrouped := strings.NewReplacer(",", "", "'", "", " ", "")
	isUnit := func(word string) bool {
		is, known := units[word]
		if !known {
			is = abi.IsKnownSymbol(word) || money.MatchString(word)
			units[word] = is
		}
		return is
	}
	last, isOther, length := 0, false, 0 // the number before, whether it numbers or counts something, and how long it is
	for i, at := range number.FindAllStringSubmatchIndex(text, maxNumbers+1) {
		if s.cut = s.cut || i == maxNumbers; i == maxNumbers {
			return
		}
		whole, fraction := text[at[2]:at[3]], ""
		if at[4] >= 0 {
			fraction = text[at[4]:at[5]]
		}
		zeros := int32(0)
		for i, power := range []int32{3, 6, 9, 5, 7, 4, 8, 3, 6, 9} { // of the words that number matches
			if at[6+2*i] >= 0 {
				zeros = power
			}
		}
		if at[26] >= 0 { // as in 25e3
			exponent, _ := strconv.Atoi(text[at[26]:at[27]]) // two digits
			zeros = int32(exponent)                          //nolint:gosec // of two digits
		}
		before, after := text[max(last, at[0]-40):at[0]], text[at[1]:min(len(text), at[1]+40)]
		behind := strings.TrimLeft(unit.FindString(after), " -")
		ahead := lastWord(before)
		hasUnit := zeros > 0 || money.MatchString(before) || isUnit(behind)
		isYear := len(whole) == 4 && fraction == "" && zeros == 0 && (whole[:2] == "19" || whole[:2] == "20")
		wasOther := isOther && len(whole) <= length+2 // in "milestone 1 - 40,000" only the first one does
		last, length = at[1], len(whole)
		isOther = !hasUnit && !isYear && (identifier.MatchString(before) || len(whole) <= 3 && place.MatchString(before) || count.MatchString(after) || shareOf.MatchString(after) ||
			ofShare.MatchString(text[max(0, at[0]-10):at[0]]) || ofDate.MatchString(after) || inDate.MatchString(before) && len(whole) <= 2 ||
			wasOther && linked.MatchString(before))
		if isOther || isYear && (!hasUnit || inDate.MatchString(text[max(0, at[0]-24):at[0]])) {
			continue
		}
		digits := ungrouped.Replace(whole) + fraction
		const most = 120 // an amount has 78 digits, and as many decimal places; a million would take long to read
		if len(digits) > most {
			continue
		}
		n, err := decimal.NewFromString(digits)
		if err != nil {
			continue
		}
		of := ""
		switch isAhead := isUnit(ahead); {
		case isUnit(behind) && isAhead && moneyOf(ahead) != moneyOf(behind): // of one of the two
		case isUnit(behind):
			of = moneyOf(behind)
		case isAhead:
			of = moneyOf(ahead)
		}
		s.add(n.Shift(zeros), of)
		if len(fraction) == len(".000") && len(whole) <= 3 && whole != "0" && zeros == 0 {
			if n = n.Shift(3); fraction == ".000" {
				s.add(n, of)
			}
			s.doubtful[n.String()] = true
		}
	}
}

// add keeps an amount, and what it is of; empty where that is not stated.
func (s *statedText) add(n decimal.Decimal, of string) {
	if before, is := s.numbers[n.String()]; is && before != of {
		s.numbers[n.String()] = ""
	} else {
		s.numbers[n.String()] = of
	}
	if _, is := s.byDigits[of+digits(n)]; !is && (of != "" || n.GreaterThanOrEqual(decimal.NewFromInt(100))) {
		s.byDigits[of+digits(n)] = n
	}
}

// moneyOf returns what a unit or the symbol of a token is of: dollars, ether and euros have several. It is empty for any.
func moneyOf(unit string) string {
	unit = strings.ToLower(unit)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(unit, part) })
	}
	switch {
	case has("usd", "$", "dollar", "stablecoin", "dai", "frax", "gho"):
		return "usd"
	case strings.HasSuffix(unit, "eth"), unit == "ether", unit == "ξ":
		return "eth"
	case has("eur", "€"):
		return "eur"
	case has("token", "coins", "native", "£", "¥", "₿", "gbp", "chf"):
		return ""
	}
	return unit
}

func lastWord(text string) string {
	text = strings.TrimRight(text, ": ")
	return text[len(strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Sc, r) })):]
}

func moneyIn(chain string, t governance.DossierTransfer) string {
	if t.Token != nil {
		return moneyOf(warehouse.TextOrEmpty(t.Symbol))
	}
	switch chain { // its native money
	case "eip155:1", "eip155:10", "eip155:324", "eip155:8453", "eip155:42161", "eip155:59144", "eip155:534352":
		return "eth"
	case "eip155:100":
		return "usd"
	}
	return ""
}

// states says what the text states of a payment; nothing without a text, and no amount without a known unit.
func (s statedText) states(chain, target string, t governance.DossierTransfer) *governance.DossierInText {
	in := &governance.DossierInText{Target: new(s.has(target)), Recipient: new(s.has(t.To))}
	if t.Symbol != nil && t.Token != nil && !*in.Target {
		in.Target = new(s.has(*t.Symbol))
	}
	if token, is := abi.TokenAt(chain, t.To); is && t.Token == nil && !*in.Recipient {
		in.Recipient = new(s.has(token.Symbol)) // ether is wrapped, or staked
	}
	if t.Amount != nil && t.Decimals != nil {
		amount := powerOf(*t.Amount)
		if in.Amount = new(s.hasNumber(amount, moneyIn(chain, t), *t.Decimals)); !*in.Amount && s.doubtful[amount.String()] {
			in.Amount = nil
		}
	}
	return in
}

// has reports whether the text has a word that is no part of a longer one. A word with signs in it may be part of one.
func (s statedText) has(word string) bool {
	word = strings.ToLower(word)
	return s.words[word] || strings.ContainsFunc(word, isSign) && strings.Contains(s.lower, word)
}

func isSign(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }

// hasNumber reports whether the text states an amount of some money, or of anything, in units or in the smallest
// ones: nobody takes these for units where there are many in one.
func (s statedText) hasNumber(amount decimal.Decimal, of string, decimals int) bool {
	const many = 6
	states := func(n decimal.Decimal) bool {
		stated, is := s.numbers[n.String()]
		return is && (strings.Contains(of, stated) || strings.Contains(stated, of)) // LINK in aEthLINK
	}
	return states(amount) || decimals >= many && states(amount.Shift(int32(decimals))) //nolint:gosec // at most 255
}

// magnitude returns a number of the text that has the digits of an amount that is not stated, with another power of ten.
func (s statedText) magnitude(amount decimal.Decimal, of string) (stated decimal.Decimal, found bool) {
	if !amount.IsPositive() {
		return stated, false
	}
	if stated, found = s.byDigits[of+digits(amount)]; !found {
		stated, found = s.byDigits[digits(amount)]
	}
	return stated, found
}

func digits(d decimal.Decimal) string { return strings.Trim(d.Coefficient().String(), "0") }
