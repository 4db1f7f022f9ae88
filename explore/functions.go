package explore

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
)

func functions() template.FuncMap {
	return template.FuncMap{
		"short":        func(value any) string { return short(fmt.Sprint(value)) },
		"minute":       func(at governance.Timestamp) string { return at.Time().UTC().Format(time.DateOnly + " 15:04") },
		"words":        func(value any) string { return strings.ReplaceAll(fmt.Sprint(value), "_", " ") },
		"dao":          func(id string) string { return address(pathDAO, id, nil) },
		"voter":        func(id string) string { return address(pathVoter, id, nil) },
		"proposal":     func(key governance.ProposalKey) string { return address(pathProposal, string(key), nil) },
		"isTrue":       func(value *bool) bool { return *value },
		"stated":       func(value *governance.Decimal) governance.Decimal { return *value },
		"titled":       titled,
		"share":        func(progress governance.Decimal) string { return percent(number(progress), decimal.NewFromInt(1)) },
		"brief":        brief,
		"argument":     argument,
		"exact":        exact,
		"token":        token,
		"unstated":     unstated,
		"ends":         ends,
		"lacksBallots": rules.LackBallots,
		"firstAndLast": func(bars []bar) []bar {
			if len(bars) < 2 {
				return bars
			}
			return []bar{bars[0], bars[len(bars)-1]}
		},
		"newestFirst": func(bars []bar) []bar {
			newest := slices.Clone(bars)
			slices.Reverse(newest)
			return newest
		},
	}
}

// ends is the verb for the end of a vote: one that was canceled or decided before is over.
func ends(lifecycle governance.Lifecycle, at *governance.Timestamp) string {
	switch {
	case lifecycle != governance.Closed:
		return "ends"
	case at != nil && at.Time().After(time.Now()):
		return "was to end"
	}
	return "ended"
}

func titled(title *string, key governance.ProposalKey) string {
	if title == nil || strings.TrimSpace(*title) == "" {
		return string(key)
	}
	return *title
}

// brief shortens what identifies a voter; other texts are cut by the stylesheet.
func brief(identity string) string {
	if strings.HasPrefix(identity, "0x") && len(identity) == 42 {
		return identity[:8] + "…" + identity[36:]
	}
	return identity
}

// units are the words for powers of a thousand, from the second on.
func units() []string { return []string{"M", "B", "T"} }

// short shortens a decimal for reading, by its text alone: nothing is rounded, what is too long is cut.
func short(text string) string {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(whole) > 6 {
		unit := min((len(whole)-1)/3-2, len(units())-1)
		point := len(whole) - 3*(unit+2)
		return governance.GroupDigits(whole[:point]) + decimals(whole[point:], 2) + units()[unit]
	}
	if whole != "0" {
		return governance.GroupDigits(whole) + decimals(fraction, 2)
	}
	if cut := decimals(fraction, 4); cut != "" || strings.Trim(fraction, "0") == "" {
		return "0" + cut
	}
	return "< 0.0001"
}

// decimals returns the first digits of a fraction after a point; nothing where all are zero.
func decimals(fraction string, places int) string {
	cut := strings.TrimRight(fraction[:min(len(fraction), places)], "0")
	if cut == "" {
		return ""
	}
	return "." + cut
}

// number returns a decimal of an answer, which is one.
func number(text governance.Decimal) decimal.Decimal {
	parsed, err := decimal.NewFromString(string(text))
	if err != nil {
		return decimal.Zero
	}
	return parsed
}

// percent returns which part of a total something is, cut at two decimal places.
func percent(part, total decimal.Decimal) string {
	if total.IsZero() {
		return "0%"
	}
	cut, _ := part.Shift(2).QuoRem(total, 2)
	if cut.IsZero() && !part.IsZero() {
		return "< 0.01%"
	}
	return cut.String() + "%"
}

// pixels returns the length of something on a scale. Only here a number becomes a float: no answer is made from
// it.
func pixels(part, total decimal.Decimal, length float64) float64 {
	if total.IsZero() {
		return 0
	}
	return part.Div(total).InexactFloat64() * length
}
