package cmd

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"pnyx/config"
)

func tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Issue, show, rotate and revoke partner tokens",
		Long: `Issue, show, rotate and revoke partner tokens. A token is printed once, when it is
made; what is kept is enough to know it again and no more. API nodes follow within a
second.`,
	}
	cmd.AddCommand(issueCommand(), listTokensCommand(), showTokenCommand(), revokeCommand(), rotateCommand())
	return cmd
}

// tokenTask runs a command on the tokens of the warehouse.
func tokenTask(
	run func(cmd *cobra.Command, args []string, o office) error,
) func(*cobra.Command, []string) error {
	return task(func(cmd *cobra.Command, args []string, cfg config.Config, logger *slog.Logger) (err error) {
		var undo cleanups
		defer func() { err = errors.Join(err, undo.run()) }()
		opened, err := openWarehouse(cmd.Context(), cfg, logger, &undo, reachEngine)
		if err != nil {
			return err
		}
		return run(cmd, args, office{warehouse: opened, cfg: cfg, logger: logger})
	})
}

func issueCommand() *cobra.Command {
	var name, plan, scopes, expires, limits string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "issue",
		Short:   "Make a token, and print it once",
		Example: `  pnyx token issue --name ACME --plan business --scopes v2:paid:plus`,
		Args:    cobra.NoArgs,
		RunE: tokenTask(func(cmd *cobra.Command, _ []string, o office) error {
			t, err := newTokenRecord(name, plan, scopes, expires, limits)
			if err != nil {
				return err
			}
			raw, err := o.issue(cmd.Context(), &t)
			if err != nil {
				return err
			}
			return printNewToken(cmd.OutOrStdout(), t, raw, asJSON)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "whose token it is")
	flags.StringVar(&plan, "plan", "", "developer, business or custom")
	flags.StringVar(&scopes, "scopes", "", "scopes, joined by commas, such as v2:paid:plus")
	flags.StringVar(&expires, "expires", "", "date or RFC 3339 time of its end; without, it has none")
	flags.StringVar(&limits, "limits", "", "for the plan custom: answers a month, then requests a minute and burst of the standard\n"+
		"and of the detail bucket, such as 500000,600,200,150,50")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	for _, required := range []string{"name", "plan", "scopes"} {
		_ = cmd.MarkFlagRequired(required) // they are flags
	}
	return cmd
}

func listTokensCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens, without what they are",
		Args:  cobra.NoArgs,
		RunE: tokenTask(func(cmd *cobra.Command, _ []string, o office) error {
			tokens, err := o.warehouse.Tokens(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printTokensJSON(cmd.OutOrStdout(), tokens...)
			}
			t := newTable([]string{"id", "name", "plan", "scopes", "created", "expires", "state"})
			for _, token := range tokens {
				t.AppendRow(table.Row{
					token.ID, token.Name, token.Plan, strings.Join(token.Scopes, " "),
					shownValue(token.CreatedAt), endOf(token), stateOf(token, time.Now()),
				})
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), t.Render())
			return err
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func showTokenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show what is known of a token, as JSON",
		Args:  cobra.ExactArgs(1),
		RunE: tokenTask(func(cmd *cobra.Command, args []string, o office) error {
			t, err := o.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return printTokensJSON(cmd.OutOrStdout(), t)
		}),
	}
}

func revokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke a token, within a second and for good",
		Args:  cobra.ExactArgs(1),
		RunE: tokenTask(func(cmd *cobra.Command, args []string, o office) error {
			t, err := o.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := o.warehouse.RevokeToken(cmd.Context(), t.ID); err != nil {
				return err
			}
			o.publish(cmd.Context())
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "revoked %s (%s)\n", t.ID, t.Name)
			return err
		}),
	}
}

func rotateCommand() *cobra.Command {
	var overlap time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rotate ID",
		Short: "Replace a token, and print the new one once",
		Long: `Replace a token, and print the new one once. It has the id, the limits and the usage
of the old one, which stays good for the overlap; a still older one ends at once.`,
		Args: cobra.ExactArgs(1),
		RunE: tokenTask(func(cmd *cobra.Command, args []string, o office) error {
			t, err := o.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			raw, err := o.rotate(cmd.Context(), &t, overlap)
			if err != nil {
				return err
			}
			return printNewToken(cmd.OutOrStdout(), t, raw, asJSON)
		}),
	}
	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the old token stays good")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
