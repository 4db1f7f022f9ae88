package demo

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// placeholders maps the name of each placeholder to its value. All texts about one
// proposal expand the same values, so that title, body and forum topic agree.
type placeholders map[string]string

// drawPlaceholders draws the values for a text that is written at the given time.
func (words wordLists) drawPlaceholders(rng random, dao *dao, at time.Time) placeholders {
	p := placeholders{"dao": dao.shortName, "name": dao.name, "symbol": dao.symbol}
	p.drawThings(rng, words)
	p.drawPeople(rng, words)
	p.drawNumbers(rng, words)
	p.setTimes(words.Months, at)
	return p
}

func (p placeholders) drawThings(rng random, words wordLists) {
	p["chain"], p["chain2"] = pickTwo(rng, words.Chains)
	p["asset"] = pick(rng, words.Assets)
	p["market"] = pick(rng, words.Markets)
	p["contract"] = pick(rng, words.Contracts)
	p["council"] = pick(rng, words.Councils)
	p["program"] = pick(rng, words.Programs)
	p["city"] = pick(rng, words.Cities)
	p["multisig"] = pick(rng, words.Multisigs)
	p["service"] = pick(rng, words.Services)
	p["currency"] = pick(rng, words.Currencies)
	partner := words.shortName(rng.IntN(words.shortNames()))
	p["partner"] = partner + " " + pick(rng, words.NameSuffixes)
}

func (p placeholders) drawPeople(rng random, words wordLists) {
	p["person"], p["person2"] = words.person(rng), words.person(rng)
	team, auditor := pickTwo(rng, words.TeamHeads)
	p["team"] = team + " " + pick(rng, words.TeamTails)
	p["auditor"] = auditor + " " + pick(rng, words.AuditorTails)
}

// drawNumbers draws quantities. Pairs are in order: oldcap is below cap, lower below
// percent, lowerbps below bps and days below longdays.
func (p placeholders) drawNumbers(rng random, words wordLists) {
	oldCap := rng.IntN(len(words.Caps) - 1)
	newCap := oldCap + 1 + rng.IntN(len(words.Caps)-1-oldCap)
	p["oldcap"], p["cap"] = words.Caps[oldCap], words.Caps[newCap]
	p["budget"], p["small"] = pick(rng, words.Budgets), formatThousands(5*rng.between(1, 12))
	lower := rng.between(2, 9)
	p["lower"], p["percent"] = strconv.Itoa(lower), strconv.Itoa(lower+rng.between(1, 12))
	p["lowerbps"] = strconv.Itoa(rng.between(2, 8))
	p["bps"] = strconv.Itoa(5 * rng.between(2, 8))
	days := rng.between(3, 14)
	p["days"], p["longdays"] = strconv.Itoa(days), strconv.Itoa(days+rng.between(2, 14))
	p["weeks"] = strconv.Itoa(rng.between(2, 12))
	p["months"] = strconv.Itoa(3 * rng.between(1, 8))
	p["seats"] = pick(rng, []string{"3", "5", "7", "9", "12"})
	p["season"] = strconv.Itoa(rng.between(2, 9))
	p["epoch"] = strconv.Itoa(rng.between(11, 240))
	p["users"] = groupDigits(rng.between(24, 4200))
	p["figure"] = strconv.Itoa(rng.between(21, 94)) + "%"
	p["version"] = "v" + strconv.Itoa(rng.between(1, 4)) + "." + strconv.Itoa(rng.between(0, 9))
}

func (p placeholders) setTimes(months []string, at time.Time) {
	month := int(at.Month()) - 1
	p["lastmonth"] = months[(month+11)%12]
	p["month"] = months[month]
	p["nextmonth"] = months[(month+3)%12]
	p["quarter"] = "Q" + strconv.Itoa(month/3+1)
	p["year"] = strconv.Itoa(at.Year())
	p["nextyear"] = strconv.Itoa(at.Year() + 1)
}

// pickTwo draws two different elements.
func pickTwo(rng random, from []string) (first, second string) {
	i := rng.IntN(len(from))
	j := (i + 1 + rng.IntN(len(from)-1)) % len(from)
	return from[i], from[j]
}

// expand replaces the placeholders in a text. A value that begins the text or a
// sentence is capitalized.
func (p placeholders) expand(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		out.WriteString(before)
		if !found {
			break
		}
		name, after, _ := strings.Cut(rest, "}")
		value := p[name]
		written := out.String()
		if written == "" || strings.HasSuffix(written, ". ") || strings.HasSuffix(written, ": ") {
			value = capitalize(value)
		}
		out.WriteString(value)
		text = after
	}
	return out.String()
}

// expandAll expands several texts and leaves the argument unchanged.
func (p placeholders) expandAll(texts []string) []string {
	expanded := slices.Clone(texts)
	for i, text := range expanded {
		expanded[i] = p.expand(text)
	}
	return expanded
}

// capitalize returns a text with its first letter in upper case.
func capitalize(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func formatThousands(n int) string {
	return groupDigits(n * 1000)
}

// groupDigits formats n with commas between groups of three digits.
func groupDigits(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
