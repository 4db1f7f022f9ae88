package cmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"pnyx/access"
	"pnyx/ratelimit"
	"pnyx/warehouse"
)

// demoOverlap is how long the tokens of the start before stay good.
const demoOverlap = 24 * time.Hour

// demoToken is a token to try things with, raw.
type demoToken struct {
	plan ratelimit.Plan
	raw  string
}

// makeDemoTokens makes a token of each plan. At a later start they are rotated:
// what they were is not known any more, and new records would pile up.
func makeDemoTokens(ctx context.Context, o office) ([]demoToken, error) {
	held, err := o.warehouse.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	var tokens []demoToken
	for _, plan := range []ratelimit.Plan{ratelimit.Developer, ratelimit.Business, ratelimit.Custom} {
		raw, err := makeDemoToken(ctx, o, plan, held)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, demoToken{plan, raw})
	}
	return tokens, nil
}

func makeDemoToken(ctx context.Context, o office, plan ratelimit.Plan, held []warehouse.Token) (string, error) {
	name := "demonstration " + string(plan)
	i := slices.IndexFunc(held, func(t warehouse.Token) bool { return t.Name == name && t.RevokedAt == nil })
	if i >= 0 {
		return o.rotate(ctx, &held[i], demoOverlap)
	}
	return o.issue(ctx, &warehouse.Token{Name: name, Plan: string(plan), Scopes: []string{string(access.V2All)}})
}

// printDemoTokens says how a paid route is asked.
func printDemoTokens(out io.Writer, paidURL string, tokens []demoToken) {
	if len(tokens) == 0 {
		return
	}
	fmt.Fprintln(out, "Paid routes want a token. These are new at every start, and good for a day after the next:")
	fmt.Fprintln(out)
	for _, token := range tokens {
		fmt.Fprintf(out, "  %-10s %s\n", token.plan, token.raw)
	}
	last := tokens[len(tokens)-1]
	fmt.Fprintf(out, "\n  curl -s -H '%s: %s' '%s'\n\n", strings.ToLower(access.HeaderToken), last.raw, paidURL)
}
