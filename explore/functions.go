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
