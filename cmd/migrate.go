package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"pnyx/warehouse"
)

// migrateCommand is a step of its own, so that workers and API nodes need no permission to change tables.
func migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring the warehouse's schema up to date",
		Long: `Bring the schema of the warehouse up to date, on every node of the cluster if there
is one. It may be repeated, and may run while workers of this version and the previous one
run. The schema of a later version is left as it is. Other commands migrate by themselves;
after this one, they need no permission to.`,
		Args: cobra.NoArgs,
		RunE: warehouseTask(reachEngine, func(cmd *cobra.Command, _ []string, s *session, opened *warehouse.Warehouse) error {
			if err := opened.Migrate(cmd.Context()); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "the schema is up to date")
			return nil
		}),
	}
}
