package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"pnyx/warehouse/engine"
)

// engineCommand prints progress to standard error, and the path to standard output, for scripts.
func engineCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "engine",
		Short: "Download the embedded ClickHouse, unless it is present",
		Args:  cobra.NoArgs,
		RunE: task(func(cmd *cobra.Command, _ []string, s *session) error {
			path, err := libraryOf(cmd, s.cfg.Warehouse.EngineLib)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "engine:", path)
			return nil
		}),
	}
}

func libraryOf(cmd *cobra.Command, named string) (string, error) {
	if named != "" {
		program, err := engine.Locate(engine.LocateOptions{Library: named})
		return program.Library, err
	}
	return engine.Fetch(cmd.Context(), engine.FetchOptions{
		Progress: func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) },
	})
}
