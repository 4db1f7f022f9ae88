package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"pnyx/config"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/importer"
	"pnyx/warehouse/record"
)

func importCommand() *cobra.Command {
	// Collecting garbage half as often saves a tenth of the processor time. GOMEMLIMIT still bounds the memory.
	const importGCPercent = 200
	var tolerate, noPublish bool
	var asOf string
	cmd := &cobra.Command{
		Use:   "import PATH…",
		Short: "Import files or folders of upstream data into the warehouse",
		Long: `Import what upstream systems publish into the warehouse: files, or folders of
files, of newline-delimited JSON, gzipped or plain, in the formats of Snapshot, Tally and
Discourse, or canonical records. The import uses a running instance, or opens the
warehouse itself. Importing the same data again changes nothing.

A running instance publishes what is imported. Without one, the import itself does, so
that the views of pnyx sql show it: --no-publish leaves that to the next start, or to the
last of several imports. A publication that is cut off is completed by either.

Exit status: 0 when everything was imported, 3 when records or files were rejected
(see --tolerate-rejects), 1 on any other error.`,
		Args: cobra.MinimumNArgs(1),
		RunE: task(func(cmd *cobra.Command, paths []string, s *session) error {
			stated, err := parseAsOf(asOf, time.Now())
			if err != nil {
				return err
			}
			for _, path := range paths {
				if _, err := os.Stat(path); err != nil {
					return fmt.Errorf("import: %w", err)
				}
			}
			opened, err := s.openWarehouse(cmd.Context(), reachEngine)
			if err != nil {
				return err
			}
			debug.SetGCPercent(importGCPercent)
			if url, err := findRedis(s.cfg); err != nil {
				return err
			} else if url != "" {
				store, err := s.openCache(url, s.cfg.Cache.Timeout)
				if err != nil {
					return err
				}
				notifyCommits(opened, store, s.logger)
			}
			options := importOptions(opened, s.cfg, s.logger)
			options.TolerateRejects, options.AsOf = tolerate, stated
			imported := runImport(cmd.Context(), cmd.OutOrStdout(), paths, options)
			if noPublish || imported != nil && !errors.Is(imported, errRejected) || !ownsEngine(s.cfg) {
				return imported
			}
			return errors.Join(imported, s.publishImported(cmd.Context(), cmd.OutOrStdout(), opened))
		}),
	}
	cmd.Flags().BoolVar(&tolerate, "tolerate-rejects", false, "exit with status 0 although records were rejected")
	cmd.Flags().StringVar(&asOf, "as-of", "", "the `time` as of which the files are; by default the time of their newest record")
	cmd.Flags().BoolVar(&noPublish, "no-publish", false, "leave the publication to the next start when no instance runs")
	return cmd
}

// parseAsOf returns the time of --as-of; nil where it is not given.
func parseAsOf(text string, now time.Time) (*governance.Timestamp, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	at, err := governance.ParseTimestamp(text)
	if err != nil || at.Time().After(now) {
		return nil, fmt.Errorf("import: --as-of %q: want an RFC 3339 time or a date up to now", text)
	}
	return &at, nil
}

func importOptions(opened *warehouse.Warehouse, cfg config.Config, logger *slog.Logger) importer.Options {
	return importer.Options{
		Warehouse:    opened,
		BatchSize:    cfg.Import.Batch,
		MaxLineBytes: int(cfg.Import.MaxLine),
		RejectsDir:   filepath.Join(cfg.Warehouse.Data, "rejects"),
		Logger:       logger,
	}
}

// runImport imports, and prints a report, also after a failure. It returns errRejected when files or, unless
// tolerated, records were rejected.
func runImport(ctx context.Context, out io.Writer, paths []string, options importer.Options) error {
	options.Progress = &importer.Progress{}
	stop := showProgress(func() string { return progressLine(options.Progress.Snapshot()) })
	report, err := importer.Run(ctx, paths, options)
	stop()
	printReport(out, report, err == nil)
	if err != nil {
		return err
	}
	// Problems are files that could not be read; --tolerate-rejects covers single records only.
	if len(report.Problems) > 0 || report.Rejected > 0 && !options.TolerateRejects {
		return fmt.Errorf("%w: %d records and %d files were rejected", errRejected, report.Rejected, len(report.Problems))
	}
	return nil
}

// showProgress keeps one progress line on standard error if that is a terminal, and otherwise adds a line every
// few seconds. stop returns after its last write, so that the report does not mix with it.
func showProgress(line func() string) (stop func()) {
	interval, begin, end := 5*time.Second, "", "\n"
	if isatty.IsTerminal(os.Stderr.Fd()) {
		interval, begin, end = 200*time.Millisecond, "\r\033[K", ""
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				fmt.Fprint(os.Stderr, begin)
				return
			case <-ticker.C:
				fmt.Fprint(os.Stderr, begin+line()+end)
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func progressLine(s importer.Snapshot) string {
	line := fmt.Sprintf("%3.0f %%  %d records  %.0f/s", 100*s.Done, s.Records, s.Rate)
	if s.Remaining > 0 {
		line += fmt.Sprintf("  %s left", s.Remaining.Round(time.Second))
	}
	return line + "  " + printable(filepath.Base(s.Path))
}

// printReport prints what an import reports, without the incomplete table of one that stopped.
func printReport(out io.Writer, report importer.Report, complete bool) {
	// Names of files and reasons of rejections contain texts of strangers.
	out = &controlEscaper{out: out}
	switch {
	case complete && len(report.Kinds) > 0:
		fmt.Fprintln(out, reportTable(report))
	case complete && len(report.Problems) == 0:
		fmt.Fprintln(out, "no records found: folders are searched for .ndjson and .jsonl files, gzipped or plain")
	}
	if report.Ignored != nil {
		fmt.Fprintln(out, "ignored:", report.Ignored)
	}
	for _, problem := range report.Problems {
		fmt.Fprintln(out, "not imported:", problem)
	}
	if kept := report.RejectsKept; kept < report.Rejected {
		fmt.Fprintf(out, "the first %d of %d rejected records are kept in %s, which is full\n", kept, report.Rejected, report.RejectsFile)
	} else if kept > 0 {
		fmt.Fprintln(out, "rejected records are kept in", report.RejectsFile)
	}
	if ballots := report.Kinds[record.KindBallot]; ballots != nil && (ballots.Rejected > 0 || len(report.Problems) > 0) {
		fmt.Fprintln(out, "votes that lack ballots are partial until the mended files are imported, whole")
	}
	if report.Waiting > 0 {
		fmt.Fprintf(out, "%d ballots wait for a proposal that is not imported yet\n", report.Waiting)
	}
	if complete {
		fmt.Fprintf(out, "imported in %s\n", report.Duration.Round(time.Millisecond))
	}
}

func reportTable(report importer.Report) string {
	t := newTable("records", "read", "new", "changed", "unchanged", "rejected")
	for _, kind := range append(record.Kinds(), "") {
		if k := report.Kinds[kind]; k != nil {
			t.AppendRow(table.Row{cmp.Or(string(kind), "(unknown)"), k.Read, k.New, k.Changed, k.Unchanged, k.Rejected})
		}
	}
	return t.Render()
}
