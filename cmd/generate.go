package cmd

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"pnyx/demo"
)

// defaultNow is the time of a data set without --now: which proposals are pending or active follows from it.
const defaultNow = "2026-01-01T00:00:00Z"

func generateCommand() *cobra.Command {
	options := demo.Demo(time.Time{})
	var now string
	cmd := &cobra.Command{
		Use:   "generate DIR",
		Short: "Write an invented data set in the formats of upstream systems",
		Long: `Write an invented data set in the formats of upstream systems, for demonstrations,
tests and benchmarks. The same flags give the same bytes, unless one is --now today:
its data has votes that are open today, as with serve --demo.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			options.Dir = args[0]
			var err error
			if options.Now, err = parseNow(now); err != nil {
				return err
			}
			var written atomic.Int64
			stop := showProgress(func() string { return fmt.Sprintf("%d of %d ballots", written.Load(), options.Ballots) })
			summary, err := demo.Write(cmd.Context(), options, func(done, _ int64) { written.Store(done) })
			stop()
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d DAOs, %d proposals, %d ballots and %d forum topics in %s\n",
				summary.DAOs, options.Proposals, options.Ballots, summary.Topics, options.Dir)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&options.Seed, "seed", options.Seed, "seed of all random choices")
	flags.IntVar(&options.DAOs, "daos", options.DAOs, "number of DAOs")
	flags.IntVar(&options.Proposals, "proposals", options.Proposals, "number of proposals")
	flags.IntVar(&options.Ballots, "ballots", options.Ballots, "number of ballots, recasts included")
	flags.IntVar(&options.Largest, "largest", options.Largest, "ballots of the largest proposal")
	flags.StringVar(&now, "now", defaultNow, "the time at which some proposals are pending and some active, or today")
	return cmd
}

// parseNow reads --now: an RFC 3339 time, or today for midnight UTC.
func parseNow(text string) (time.Time, error) {
	if text == "today" {
		return time.Now().UTC().Truncate(24 * time.Hour), nil
	}
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, errors.New("--now: want an RFC 3339 time, as in 2026-01-31T00:00:00Z, or today")
	}
	return moment, nil
}
