package demo

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// slots are the words that one proposal puts into the gaps of its texts, so that
// title, body and forum topic speak of the same things.
type slots map[string]string

// drawSlots draws the words for something written at the given time in a DAO.
func (v vocabulary) drawSlots(d dice, dao *dao, at time.Time) slots {
	s := slots{"dao": dao.root, "name": dao.name, "symbol": dao.symbol}
	v.nouns.drawWords(d, s)
	v.nouns.drawPeople(d, s)
	v.nouns.drawNumbers(d, s)
	v.nouns.drawTimes(s, at)
	return s
}

func (n nouns) drawWords(d dice, s slots) {
	s["chain"], s["chain2"] = pickTwo(d, n.chains)
	s["asset"] = pick(d, n.assets)
	s["market"] = pick(d, n.markets)
	s["contract"] = pick(d, n.contracts)
	s["council"] = pick(d, n.councils)
	s["program"] = pick(d, n.programs)
	s["city"] = pick(d, n.cities)
	s["multisig"] = pick(d, n.multisigs)
	s["service"] = pick(d, n.services)
	s["currency"] = pick(d, n.currencies)
	s["partner"] = n.root(d.IntN(n.roots())) + " " + pick(d, n.kinds)
}

func (n nouns) drawPeople(d dice, s slots) {
	s["person"], s["person2"] = n.person(d), n.person(d)
	team, auditor := pickTwo(d, n.teamHeads)
	s["team"] = team + " " + pick(d, n.teamTails)
	s["auditor"] = auditor + " " + pick(d, n.auditorTails)
}

func (n nouns) drawNumbers(d dice, s slots) {
	old := d.IntN(len(n.caps) - 1)
	s["oldcap"], s["cap"] = n.caps[old], n.caps[old+1+d.IntN(len(n.caps)-1-old)]
	s["budget"], s["small"] = pick(d, n.budgets), thousands(5*d.between(1, 12))
	lower := d.between(2, 9)
	s["lower"], s["percent"] = strconv.Itoa(lower), strconv.Itoa(lower+d.between(1, 12))
	s["lowerbps"], s["bps"] = strconv.Itoa(d.between(2, 8)), strconv.Itoa(5*d.between(2, 8))
	days := d.between(3, 14)
	s["days"], s["longdays"] = strconv.Itoa(days), strconv.Itoa(days+d.between(2, 14))
	s["weeks"] = strconv.Itoa(d.between(2, 12))
	s["months"] = strconv.Itoa(3 * d.between(1, 8))
	s["seats"] = pick(d, []string{"3", "5", "7", "9", "12"})
	s["season"] = strconv.Itoa(d.between(2, 9))
	s["epoch"] = strconv.Itoa(d.between(11, 240))
	s["users"] = grouped(d.between(24, 4200))
	s["figure"] = strconv.Itoa(d.between(21, 94)) + "%"
	s["version"] = "v" + strconv.Itoa(d.between(1, 4)) + "." + strconv.Itoa(d.between(0, 9))
}

func (n nouns) drawTimes(s slots, at time.Time) {
	month := int(at.Month()) - 1
	s["lastmonth"] = n.monthsOfYear[(month+11)%12]
	s["month"] = n.monthsOfYear[month]
	s["nextmonth"] = n.monthsOfYear[(month+3)%12]
	s["quarter"] = "Q" + strconv.Itoa(month/3+1)
	s["year"] = strconv.Itoa(at.Year())
	s["nextyear"] = strconv.Itoa(at.Year() + 1)
}

func (n nouns) person(d dice) string {
	return pick(d, n.firstNames) + " " + pick(d, n.lastNames)
}

// pickTwo draws two different ones of several.
func pickTwo(d dice, from []string) (first, second string) {
	i := d.IntN(len(from))
	j := (i + 1 + d.IntN(len(from)-1)) % len(from)
	return from[i], from[j]
}

// fill puts the words into the gaps of a text: "{asset}" stands for an asset. A
// sentence that begins with a gap begins with a capital letter.
func (s slots) fill(text string) string {
	var filled strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		filled.WriteString(before)
		if !found {
			break
		}
		name, after, _ := strings.Cut(rest, "}")
		word := s[name]
		if so := filled.String(); so == "" || strings.HasSuffix(so, ". ") || strings.HasSuffix(so, ": ") {
			word = capital(word)
		}
		filled.WriteString(word)
		text = after
	}
	return filled.String()
}

func (s slots) fillAll(texts []string) []string {
	filled := slices.Clone(texts)
	for i, text := range filled {
		filled[i] = s.fill(text)
	}
	return filled
}

// capital returns a text with its first letter in upper case.
func capital(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// thousands writes n thousands.
func thousands(n int) string {
	return grouped(n * 1000)
}

// grouped writes n with commas between groups of three digits.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
