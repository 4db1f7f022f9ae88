package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"pnyx/warehouse/engine"
)

// engineCommand downloads the embedded ClickHouse ahead of the first start, for example
// when an image is built, unless PNYX_ENGINE_LIB names one. Progress goes to standard error, the path to standard output,
// so that scripts can read the path.
func engineCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "engine",
		Short: "Download the embedded ClickHouse, unless it is present",
		Args:  cobra.NoArgs,
		RunE: task(func(cmd *cobra.Command, _ []string, s *session) error {
			named := s.cfg.Warehouse.EngineLib
			program, err := engine.Locate(engine.LocateOptions{Library: named})
			if named == "" {
				program.Library, err = engine.Fetch(cmd.Context(), engine.FetchOptions{
					Progress: func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) },
				})
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "engine:", program.Library)
			return nil
		}),
	}
}
