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
	"pnyx/warehouse/accounts"
	"pnyx/warehouse/importer"
	"pnyx/warehouse/records"
)

// prepareDemo creates the demonstration's tokens and loads its data into an empty warehouse. The data is as of the
// moment at which the tokens were issued, so that a start after an interrupted load writes the same records again.
func prepareDemo(ctx context.Context, admin tokenAdmin, out io.Writer) ([]demoToken, error) {
	existing, err := accounts.NewAccounts(admin.warehouse).Tokens(ctx)
	if err != nil {
		return nil, err
	}
	tokens, err := makeDemoTokens(ctx, admin, existing)
	if err != nil {
		return nil, fmt.Errorf("create the demonstration tokens: %w", err)
	}
	wanted, err := wantsDemoData(ctx, admin.warehouse, existing)
	if err != nil || !wanted {
		return tokens, err
	}
	if err := loadDemo(ctx, admin.warehouse, admin.cfg, out); err != nil {
		return nil, fmt.Errorf("load the demonstration data: %w", err)
	}
	return tokens, nil
}

// wantsDemoData reports whether the warehouse is empty, or an earlier start was interrupted before its import.
func wantsDemoData(ctx context.Context, opened *warehouse.Warehouse, existing []accounts.Token) (bool, error) {
	empty, err := records.Empty(ctx, opened)
	if err != nil || empty || findDemoToken(existing, ratelimit.Developer) < 0 {
		return empty, err
	}
	synced, err := records.Synced(ctx, opened)
	return !synced, err
}

func loadDemo(ctx context.Context, opened *warehouse.Warehouse, cfg config.Config, out io.Writer) (err error) {
	tokens, err := accounts.NewAccounts(opened).Tokens(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "Loading invented governance data for the demonstration…")
	dir, err := os.MkdirTemp("", "pnyx-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	options := demo.Demo(tokens[findDemoToken(tokens, ratelimit.Developer)].CreatedAt)
	options.Dir = dir
	if _, err := demo.Write(ctx, options, nil); err != nil {
		return err
	}
	// The report has the same problems as the log, and the output of a first start should stay readable.
	report, err := importer.Run(ctx, []string{dir}, importOptions(opened, cfg, slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	return errors.Join(report.Problems...)
}

// demoOverlap is how long requests that were copied from the output of the previous start work.
const demoOverlap = 24 * time.Hour

type demoToken struct {
	plan ratelimit.Plan
	raw  string // the plain text, which is printed once
}

// makeDemoTokens creates a token of each plan. It rotates one of an earlier start, whose plain text is not stored.
func makeDemoTokens(ctx context.Context, admin tokenAdmin, existing []accounts.Token) ([]demoToken, error) {
	var tokens []demoToken
	for _, plan := range ratelimit.TokenPlans() {
		var raw string
		var err error
		if i := findDemoToken(existing, plan); i >= 0 {
			raw, err = admin.rotate(ctx, &existing[i], demoOverlap)
		} else {
			raw, err = admin.issue(ctx, &accounts.Token{Name: demoTokenName(plan), Plan: string(plan), Scopes: []string{string(access.V2All)}})
		}
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, demoToken{plan, raw})
	}
	return tokens, nil
}

func findDemoToken(tokens []accounts.Token, plan ratelimit.Plan) int {
	return slices.IndexFunc(tokens, func(t accounts.Token) bool {
		return t.Name == demoTokenName(plan) && t.RevokedAt == nil
	})
}

func demoTokenName(plan ratelimit.Plan) string { return "demonstration " + string(plan) }

func printDemoTokens(out io.Writer, paidURL string, tokens []demoToken) {
	if len(tokens) == 0 {
		return
	}
	fmt.Fprintln(out, "Paid routes need a token. New tokens at each start; older ones expire a day later:")
	fmt.Fprintln(out)
	for _, token := range tokens {
		fmt.Fprintf(out, "  %-10s %s\n", token.plan, token.raw)
	}
	last := tokens[len(tokens)-1]
	fmt.Fprintf(out, "\n  curl -s -H '%s: %s' '%s'\n\n", strings.ToLower(access.HeaderToken), last.raw, paidURL)
}
