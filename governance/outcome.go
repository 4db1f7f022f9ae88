package governance

import (
	"slices"
	"strings"
	"unicode"

	"github.com/shopspring/decimal"
)

// Labels of choices that approve, reject or abstain. A label matches when it is one of
// these words, or begins with one that punctuation ends ("Yes, approve the budget").
const (
	approvingLabels  = "for|yes|yae|yay|yea|aye|approve|approved|accept|accepted|in favor|in favour|favor|support|agree|pass"
	rejectingLabels  = "against|no|nay|nae|noe|reject|rejected|oppose|opposed|disagree|disapprove|decline|deny"
	abstainingLabels = "abstain|abstention|abstained"
)

// Verdict is the meaning of a choice for the outcome.
type Verdict int

// The verdicts.
const (
	NoVerdict Verdict = iota
	Approves
	Rejects
	Abstains
)

// VerdictOf returns the verdict of a choice by its label.
func VerdictOf(label string) Verdict {
	words := strings.Join(strings.Fields(strings.ToLower(strings.TrimFunc(label, isOrnament))), " ")
	switch {
	case hasLabelPrefix(words, approvingLabels):
		return Approves
	case hasLabelPrefix(words, rejectingLabels):
		return Rejects
	case hasLabelPrefix(words, abstainingLabels):
		return Abstains
	}
	return NoVerdict
}

func isOrnament(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

func hasLabelPrefix(text, labels string) bool {
	return slices.ContainsFunc(strings.Split(labels, "|"), func(label string) bool {
		rest, found := strings.CutPrefix(text, label)
		rest = strings.TrimLeft(rest, " ")
		return found && (rest == "" || strings.ContainsAny(rest[:1], ",.:;-!(/") || strings.HasPrefix(rest, "–") || strings.HasPrefix(rest, "—"))
	})
}

// Decide derives the outcome of a closed vote: Passed when more power approves
// than rejects and the quorum (where there is one) is reached, else Failed. It
// is Unknown where the choices are not exactly one that approves, one that rejects
// and any that abstain, because then no rule says who won.
func Decide(choices []Choice, scores []decimal.Decimal, quorumReached bool) Outcome {
	power := map[Verdict]decimal.Decimal{}
	count := map[Verdict]int{}
	for i, choice := range choices {
		verdict := VerdictOf(choice.Label)
		power[verdict] = scores[i]
		count[verdict]++
	}
	if count[Approves] != 1 || count[Rejects] != 1 || count[NoVerdict] != 0 {
		return Unknown
	}
	if quorumReached && power[Approves].GreaterThan(power[Rejects]) {
		return Passed
	}
	return Failed
}
