package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"pnyx/access"
	"pnyx/config"
	"pnyx/demo"
	"pnyx/ratelimit"
	"pnyx/warehouse"
	"pnyx/warehouse/importer"
)

// prepareDemo loads the demonstration's data into an empty warehouse and creates its
// tokens. A warehouse that already holds records keeps them and gets the tokens only.
func prepareDemo(ctx context.Context, admin tokenAdmin, out io.Writer) ([]demoToken, error) {
	if err := loadDemo(ctx, admin.warehouse, admin.cfg, out); err != nil {
		return nil, fmt.Errorf("load the demonstration data: %w", err)
	}
	tokens, err := makeDemoTokens(ctx, admin)
	if err != nil {
		return nil, fmt.Errorf("create the demonstration tokens: %w", err)
	}
	return tokens, nil
}

// loadDemo generates invented data and imports it, unless the warehouse holds records.
// The data goes through the same files and importer as upstream data. The files are
// removed afterwards.
func loadDemo(ctx context.Context, opened *warehouse.Warehouse, cfg config.Config, out io.Writer) (err error) {
	empty, err := opened.Empty(ctx)
	if err != nil || !empty {
		return err
	}
	fmt.Fprintln(out, "Loading invented governance data for the demonstration…")
	dir, err := os.MkdirTemp("", "pnyx-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	options := demo.Demo(time.Now())
	options.Dir = dir
	if _, err := demo.Write(ctx, options, nil); err != nil {
		return err
	}
	// The importer does not log here: the report has the same problems, and the output
	// of a first start should stay readable.
	report, err := importer.Run(ctx, []string{dir}, importOptions(opened, cfg, slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	return errors.Join(report.Problems...)
}

// demoOverlap is how long the tokens of the previous start stay valid, so that a
// restart does not break requests that were copied from its output.
const demoOverlap = 24 * time.Hour

// demoToken is a token of the demonstration, with the plain text that is printed once.
type demoToken struct {
	// plan is the plan whose limits apply to the token.
	plan ratelimit.Plan
	// raw is the plain text. The warehouse holds only its hash.
	raw string
}

// makeDemoTokens creates a token of each plan. A later start rotates them, because
// their plain text is not stored and new records would pile up.
func makeDemoTokens(ctx context.Context, admin tokenAdmin) ([]demoToken, error) {
	existing, err := admin.warehouse.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	var tokens []demoToken
	for _, plan := range []ratelimit.Plan{ratelimit.Developer, ratelimit.Business, ratelimit.Custom} {
		raw, err := makeDemoToken(ctx, admin, plan, existing)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, demoToken{plan, raw})
	}
	return tokens, nil
}

// makeDemoToken returns the plain text of the token of one plan. It rotates the token
// among existing that is not revoked and has the demonstration's name, and issues one
// if there is none.
func makeDemoToken(ctx context.Context, admin tokenAdmin, plan ratelimit.Plan, existing []warehouse.Token) (string, error) {
	name := "demonstration " + string(plan)
	i := slices.IndexFunc(existing, func(t warehouse.Token) bool { return t.Name == name && t.RevokedAt == nil })
	if i >= 0 {
		return admin.rotate(ctx, &existing[i], demoOverlap)
	}
	return admin.issue(ctx, &warehouse.Token{Name: name, Plan: string(plan), Scopes: []string{string(access.V2All)}})
}

// printDemoTokens prints the tokens, and a request to the paid route at paidURL with
// the last of them. It prints nothing when there are none.
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
