package rules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// Bounds of the characters of a title and of a choice inside a sentence.
const (
	maxTitleRunes = 100
	maxLabelRunes = 60
)

// amountText writes an amount for people: from 1,000 on whole and in groups of three
// digits, below that cut at two decimal places, below 1 cut at six, unless that leaves nothing.
func amountText(amount decimal.Decimal) string {
	switch {
	case amount.GreaterThanOrEqual(decimal.NewFromInt(1000)):
		return governance.GroupDigits(amount.Truncate(0).String())
	case amount.GreaterThanOrEqual(decimal.NewFromInt(1)), amount.IsZero():
		return amount.Truncate(2).String()
	}
	if cut := amount.Truncate(6); !cut.IsZero() {
		return cut.String()
	}
	return amount.String()
}

// countText writes a number in groups of three digits.
func countText(count uint64) string { return governance.GroupDigits(fmt.Sprint(count)) }

// percentOf returns part ÷ whole in percent, cut at one decimal place; 0 where whole is 0.
func percentOf(part, whole decimal.Decimal) decimal.Decimal {
	if whole.IsZero() {
		return decimal.Zero
	}
	quotient, _ := part.Shift(2).QuoRem(whole, 1)
	return quotient
}

func titleText(title string) string {
	if strings.TrimSpace(title) == "" {
		return "an untitled proposal"
	}
	return Quoted(title, maxTitleRunes)
}

// SignalTitle returns the title of a signal with the name of its DAO before it.
func SignalTitle(daoName, title string) string {
	return oneLine(daoName, maxLabelRunes) + " · " + title
}

// SignalVoter returns the voter whom the text of a derived signal names; empty for none.
func SignalVoter(s governance.Signal) string {
	var named struct{ Voter, Delegate string }
	if err := json.Unmarshal(s.Evidence, &named); err != nil {
		return "" // of another rule: the figures of those that name a voter are texts
	}
	return cmp.Or(named.Voter, named.Delegate)
}

// NameVoter puts a voter's name, and its source, beside the voter with whom a text of a derived signal begins.
func NameVoter(text, voter string, name governance.VoterName) string {
	for _, subject := range []string{voterText(voter), delegateText(voter)} {
		if rest, found := strings.CutPrefix(text, subject+" "); found {
			return fmt.Sprintf("%s (%s, %s) %s", subject, Quoted(name.Name, maxLabelRunes), name.Source, rest)
		}
	}
	return text
}

// Quoted puts upstream text into quotes, on one line of at most maxRunes characters. Quotes inside
// it are single ones, so that it does not end where its author wants.
func Quoted(text string, maxRunes int) string {
	return "“" + strings.NewReplacer("“", "‘", "”", "’").Replace(oneLine(text, maxRunes)) + "”"
}

// oneLine returns a text on one line of at most maxRunes characters.
func oneLine(text string, maxRunes int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > maxRunes {
		text = strings.TrimSpace(string([]rune(text)[:maxRunes])) + "…"
	}
	return text
}

// hourText writes a moment to the minute.
func hourText(at governance.Timestamp) string { return at.Time().Format("2 January 2006, 15:04 UTC") }

// counted writes a number with the noun it counts.
func counted(count uint64, one, many string) string {
	if count == 1 {
		return "1 " + one
	}
	return countText(count) + " " + many
}

// voterText shortens an address inside a sentence; names stay whole.
func voterText(voter string) string {
	if len(voter) != len("0x")+40 || !strings.HasPrefix(voter, "0x") {
		return voter
	}
	return voter[:6] + "…" + voter[len(voter)-4:]
}
