package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pnyx/ratelimit"
	"pnyx/warehouse"
	"pnyx/warehouse/accounts"
)

func tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Issue, show, rotate and revoke partner tokens",
		Long: `Issue, show, rotate and revoke partner tokens. A token is printed once, when it is
created; only a hash of it is stored. API nodes follow within a second.`,
	}
	cmd.AddCommand(issueCommand(), listTokensCommand(), showTokenCommand(), revokeCommand(), rotateCommand())
	return cmd
}

func tokenTask(run func(cmd *cobra.Command, args []string, admin tokenAdmin) error) func(*cobra.Command, []string) error {
	return warehouseTask(reachExisting, func(cmd *cobra.Command, args []string, s *session, opened *warehouse.Warehouse) error {
		return run(cmd, args, tokenAdmin{warehouse: opened, cfg: s.cfg, logger: s.logger})
	})
}

// named returns a run of a command on what its argument is the id of.
func named[Admin interface {
	find(ctx context.Context, id string) (Found, error)
}, Found any](run func(cmd *cobra.Command, admin Admin, found Found) error) func(*cobra.Command, []string, Admin) error {
	return func(cmd *cobra.Command, args []string, admin Admin) error {
		found, err := admin.find(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return run(cmd, admin, found)
	}
}

func issueCommand() *cobra.Command {
	var name, plan, scopes, expires, limits string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "issue",
		Short:   "Create a token, and print it once",
		Long:    "Create a token, and print it once. It works as soon as it is printed. The plan limits it:\n\n" + planTable(),
		Example: `  pnyx token issue --name ACME --plan business --scopes v2:paid:plus`,
		Args:    cobra.NoArgs,
		// Before cobra asks for the flags that are missing.
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("plan") {
				return nil
			}
			if _, err := ratelimit.ParsePlan(plan); err != nil {
				return fmt.Errorf("--plan: %w\n%s", err, planTable())
			}
			return nil
		},
		RunE: tokenTask(func(cmd *cobra.Command, _ []string, admin tokenAdmin) error {
			t, err := newTokenRecord(name, plan, scopes, expires, limits)
			if err != nil {
				return err
			}
			raw, err := admin.issue(cmd.Context(), &t)
			if err != nil {
				return err
			}
			return printNewToken(cmd.OutOrStdout(), cmd.ErrOrStderr(), t, raw, asJSON)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "name of the partner")
	flags.StringVar(&plan, "plan", "", fmt.Sprintf("one of %v", ratelimit.TokenPlans()))
	flags.StringVar(&scopes, "scopes", "", "scopes, separated by commas, such as v2:paid:plus")
	flags.StringVar(&expires, "expires", "", "date or RFC 3339 time at which it expires; without, it does not expire")
	flags.StringVar(&limits, "limits", "", "for the plan custom: responses per month, then requests per minute and burst of the\n"+
		"standard and of the detail bucket, such as 500000,600,200,150,50")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	for _, required := range []string{"name", "plan", "scopes"} {
		_ = cmd.MarkFlagRequired(required) // the flags exist
	}
	return cmd
}

func planTable() string {
	t := newTable("plan", "answers a month", "standard routes", "plus routes")
	for _, plan := range ratelimit.DescribePlans() {
		if slices.Contains(ratelimit.TokenPlans(), ratelimit.Plan(plan.Name)) {
			t.AppendRow(table.Row{plan.Name, plan.Month, plan.Standard, plan.Detail})
		}
	}
	return t.Render()
}

func listTokensCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens, without their plain text",
		Long: `List the tokens, without their plain text. The last use is the last day (UTC) with a
request of the token, whatever was answered. It comes from the usage in the warehouse
(usage_by_day), which API nodes and worker write a few seconds after the request.`,
		Args: cobra.NoArgs,
		RunE: tokenTask(func(cmd *cobra.Command, _ []string, admin tokenAdmin) error {
			tokens, err := accounts.NewAccounts(admin.warehouse).Tokens(cmd.Context())
			if err != nil {
				return err
			}
			used, err := accounts.NewAccounts(admin.warehouse).LastUsedDays(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printTokensJSON(cmd.OutOrStdout(), used, tokens...)
			}
			t := newTable("id", "name", "plan", "scopes", "created", "expires", "last used", "state")
			for _, token := range tokens {
				t.AppendRow(table.Row{
					token.ID, token.Name, token.Plan, strings.Join(token.Scopes, " "), shownTime(token.CreatedAt),
					endOf(token), cmp.Or(lastUsedOn(used, token.ID), "never"), stateOf(token, time.Now()),
				})
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), printable(t.Render()))
			return err
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func showTokenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a token as JSON, without its plain text",
		Args:  cobra.ExactArgs(1),
		RunE: tokenTask(named(func(cmd *cobra.Command, admin tokenAdmin, t accounts.Token) error {
			used, err := accounts.NewAccounts(admin.warehouse).LastUsedDays(cmd.Context())
			if err != nil {
				return err
			}
			return printTokensJSON(cmd.OutOrStdout(), used, t)
		})),
	}
}

// revokeCommand revokes a token. Its record stays, so that usage can be attributed to it.
func revokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke a token for good; API nodes follow within a second",
		Args:  cobra.ExactArgs(1),
		RunE: tokenTask(named(func(cmd *cobra.Command, admin tokenAdmin, t accounts.Token) error {
			if err := accounts.NewAccounts(admin.warehouse).RevokeToken(cmd.Context(), t.ID); err != nil {
				return err
			}
			admin.publish(cmd.Context())
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "revoked %s (%s)\n", t.ID, printable(t.Name))
			return err
		})),
	}
}

// overlapFlag adds the flag --overlap of a rotation: what was valid before stays so for that long.
func overlapFlag(cmd *cobra.Command, overlap *time.Duration, usage string) {
	cmd.Flags().DurationVar(overlap, "overlap", 24*time.Hour, usage+", at most a year")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if *overlap < 0 || *overlap > 365*24*time.Hour {
			return fmt.Errorf("--overlap %s: want a duration from 0s to 8760h", *overlap)
		}
		return nil
	}
}

func rotateCommand() *cobra.Command {
	var overlap time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rotate ID",
		Short: "Replace a token, and print the new one once",
		Long: `Replace a token, and print the new one once. It keeps the id, the limits and the usage
of the old one, which stays valid for the overlap; a still older one ends at once.`,
		Args: cobra.ExactArgs(1),
		RunE: tokenTask(named(func(cmd *cobra.Command, admin tokenAdmin, t accounts.Token) error {
			raw, err := admin.rotate(cmd.Context(), &t, overlap)
			if err != nil {
				return err
			}
			return printNewToken(cmd.OutOrStdout(), cmd.ErrOrStderr(), t, raw, asJSON)
		})),
	}
	overlapFlag(cmd, &overlap, "how long the old token stays valid")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
