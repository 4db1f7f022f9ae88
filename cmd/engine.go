package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"pnyx/warehouse/engine"
)

// engineCommand downloads the embedded ClickHouse ahead of the first start, for example
// when an image is built. Progress goes to standard error, the path to standard output,
// so that scripts can read the path.
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
