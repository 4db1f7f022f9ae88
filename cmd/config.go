package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"pnyx/config"
)

func configCommand() *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the effective settings, secrets masked",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if markdown {
				fmt.Fprint(cmd.OutOrStdout(), config.Markdown())
				return nil
			}
			return task(func(cmd *cobra.Command, _ []string, s *session) error {
				return s.cfg.Print(cmd.OutOrStdout())
			})(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print all settings with their descriptions as a table")
	return cmd
}
