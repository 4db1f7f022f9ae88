package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"pnyx/config"
	"pnyx/follow"
	"pnyx/follow/sources"
)

func sourcesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sources",
		Short: "Check live sources, and show how far they are followed",
	}
	cmd.AddCommand(checkSourcesCommand(), sourcesStatusCommand())
	return cmd
}

const maxWidth = 60

func checkSourcesCommand() *cobra.Command {
	const checkTimeout = 5 * time.Minute // a node may have to search for the first block of each contract
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Validate sources and estimate requests",
		Long: `Validate the sources of a file, PNYX_SOURCES unless one is named, at their upstream
systems. Nothing is written. The table estimates the requests of a day, idle and while votes
are open, beside the provider's limit, and how long the past takes to read.

Exit status: 0 when every source can be followed, 1 otherwise.`,
		Args: cobra.MaximumNArgs(1),
		RunE: task(func(cmd *cobra.Command, args []string, s *session) error {
			path := s.cfg.Follow.Sources
			if len(args) > 0 {
				path = args[0]
			}
			if path == "" {
				return errNoSources
			}
			if timeout <= 0 {
				return fmt.Errorf("--timeout %s: want a duration above 0", timeout)
			}
			file, err := sources.Load(path, lookupKey)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			made := upstreams{logger: s.logger}
			err = checkSources(ctx, cmd.OutOrStdout(), made.of(file))
			for _, stated := range made.client.Allowances() {
				fmt.Fprintf(cmd.OutOrStdout(), "%s allows %d more requests until %s\n",
					stated.Host, stated.Remaining, shownTime(stated.ResetAt))
			}
			return err
		}),
	}
	cmd.Flags().DurationVar(&timeout, "timeout", checkTimeout, "end after this time")
	return cmd
}

// checkSources asks all upstreams, and prints what each source is, and its problem if it has one.
func checkSources(ctx context.Context, out io.Writer, all []follow.Upstream) error {
	results := make([][]follow.Check, len(all))
	var answered, silent atomic.Int64
	stop := showProgress(func() string {
		return fmt.Sprintf("%d of %d upstream systems have answered, %d did not", answered.Load(), len(all), silent.Load())
	})
	var asking sync.WaitGroup
	for i, upstream := range all {
		asking.Go(func() {
			results[i] = upstream.Check(ctx)
			if slices.ContainsFunc(results[i], func(c follow.Check) bool { return !c.Silent }) {
				answered.Add(1)
			} else {
				silent.Add(1)
			}
		})
	}
	asking.Wait()
	stop()
	problems, checked := printChecks(out, results)
	if problems > 0 {
		return fmt.Errorf("not every source can be followed: %d of %d have problems", problems, checked)
	}
	return nil
}

// printChecks prints the checks of each upstream. Sources with one problem are one row, and in none of the sums.
func printChecks(out io.Writer, results [][]follow.Check) (problems, checked int) {
	t := newTable("source", "what it is", "requests a day", "with open votes", "reading the past", "limit")
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 2, WidthMax: maxWidth, WidthMaxEnforcer: text.WrapSoft}, {Number: 6, WidthMax: maxWidth / 2, WidthMaxEnforcer: text.WrapSoft},
	})
	var idle, busy int
	var longest time.Duration // upstreams are read at the same time
	for _, checks := range results {
		var past time.Duration
		alike := map[string]int{}
		for _, c := range checks {
			checked++
			if c.Problem != "" {
				problems++
				alike[c.Problem]++
				continue
			}
			t.AppendRow(table.Row{c.Source, c.Is, c.RequestsPerDay, c.RequestsPerDayBusy, shownEstimate(c.Backfill), c.Limit})
			idle, busy, past = idle+c.RequestsPerDay, busy+c.RequestsPerDayBusy, past+c.Backfill
		}
		longest = max(longest, past)
		for _, c := range checks {
			if n := alike[c.Problem]; n > 0 {
				if n > 1 {
					c.Source += fmt.Sprintf(" and %d more", n-1)
				}
				t.AppendRow(table.Row{c.Source, "PROBLEM: " + strings.ReplaceAll(c.Problem, "\n", "; "), "", "", "", c.Limit})
				delete(alike, c.Problem)
			}
		}
	}
	t.AppendFooter(table.Row{"", "", idle, busy, "", ""})
	fmt.Fprintln(out, printable(t.Render())) // names of spaces and errors are texts of strangers
	if longest > 0 {
		fmt.Fprintf(out, "reading the past takes %s\n", shownEstimate(longest))
	}
	return problems, checked
}

func shownEstimate(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return "about " + max(d, time.Minute).Round(time.Minute).String()
}

// lookupKey is os.LookupEnv without Pnyx's own settings: a sources file names where its keys are sent.
func lookupKey(name string) (key string, set bool) {
	if slices.ContainsFunc(config.Settings(), func(s config.Setting) bool { return s.Name == name }) {
		return "", false
	}
	return os.LookupEnv(name)
}
