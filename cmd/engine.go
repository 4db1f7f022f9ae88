package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"pnyx/warehouse/engine"
)

func engineCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "engine",
		Short: "Download the embedded ClickHouse, unless it is present",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := engine.Fetch(cmd.Context(), engine.FetchOptions{
				Progress: func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) },
			})
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "engine:", path)
			return nil
		},
	}
}
