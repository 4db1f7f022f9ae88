package cmd

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"pnyx/api/doc"
	"pnyx/config"
	"pnyx/follow/sources"
)

// configCommand shows the effective settings. With --markdown or --readme it describes
// all settings instead, and does not read the environment, so that the output is the
// same on every machine.
func configCommand() *cobra.Command {
	var markdown bool
	var readme, sourcesDocument string
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the effective settings, secrets masked",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case markdown:
				fmt.Fprint(cmd.OutOrStdout(), config.Markdown())
				return nil
			case readme != "":
				return updateReadme(readme)
			case sourcesDocument != "":
				return updateTable(sourcesDocument, "sources", sources.Markdown())
			}
			return task(func(cmd *cobra.Command, _ []string, cfg config.Config, _ *slog.Logger) error {
				return cfg.Print(cmd.OutOrStdout())
			})(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print all settings with their descriptions as a table")
	cmd.Flags().StringVar(&readme, "readme", "", "rewrite the tables of settings and of plans in this file")
	cmd.Flags().StringVar(&sourcesDocument, "sources", "", "rewrite the table of the keys of a sources file in this file")
	cmd.MarkFlagsMutuallyExclusive("markdown", "readme", "sources")
	return cmd
}

// updateReadme rewrites the tables of settings and of plans between the markers in the
// file at path. It leaves the file unchanged when a marker is missing.
func updateReadme(path string) error {
	before, err := os.ReadFile(path) //nolint:gosec // the document that the caller names
	if err != nil {
		return err
	}
	plans, err := doc.PlanTable()
	if err != nil {
		return err
	}
	after, err := config.UpdateReadme(string(before))
	if err != nil {
		return err
	}
	if after, err = config.UpdateTable(after, "plans", string(plans)); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(after), 0o644) //nolint:gosec // a document
}

// updateTable rewrites the table between the markers of its name in the file at path.
func updateTable(path, name, table string) error {
	before, err := os.ReadFile(path) //nolint:gosec // the document that the caller names
	if err != nil {
		return err
	}
	after, err := config.UpdateTable(string(before), name, table)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(after), 0o644) //nolint:gosec // a document
}
