// Command bench compares Pnyx with baselines: minimal programs that do the same work. It prints a table and
// writes it as a document with a chart.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := caught(func() { command(os.Args[1:]) }); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func command(args []string) {
	commands := map[string]func([]string){"baseline": baselineCommand, "engine": engineCommand, "scale": scaleCommand}
	if len(args) > 0 && commands[args[0]] != nil {
		commands[args[0]](args[1:])
		return
	}
	benchCommand(args)
}

// options select what to measure.
type options struct {
	root, pnyx, dir, docs string
	quick                 bool
	only                  []string
	nice                  int
}

func benchCommand(args []string) {
	var o options
	var only string
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.StringVar(&o.root, "root", ".", "folder of the repository")
	flags.StringVar(&o.dir, "data", "data/bench", "folder that keeps generated data between runs")
	flags.StringVar(&o.docs, "docs", "test/results", "folder to write the documents to; empty for none")
	flags.BoolVar(&o.quick, "quick", false, "few rounds, and less data")
	flags.IntVar(&o.nice, "nice", defaultNiceness, "niceness of worker and warehouse; 0 where a busy machine would starve them")
	flags.StringVar(&only, "only", "", "rows to measure, by their ids or how these begin, joined by commas; nothing is written then")
	mustDo(flags.Parse(args))
	if only != "" {
		o.only, o.docs = strings.Split(only, ","), ""
	}
	o.pnyx, o.dir = must(filepath.Abs(filepath.Join(o.root, "bin", "pnyx"))), must(filepath.Abs(o.dir))
	// Child processes have to stop when the benchmark is interrupted.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o.bench(ctx)
}

func (o options) wants(id string) bool {
	return len(o.only) == 0 || slices.ContainsFunc(o.only, func(begin string) bool { return strings.HasPrefix(id, begin) })
}

func (o options) bench(ctx context.Context) {
	e := newEnvironment(ctx, o.pnyx, o.dir, o.quick, os.Stderr)
	e.Niceness = o.nice
	report := Report{Began: time.Now(), Quick: o.quick, Size: sizeOf(o.quick), Machine: thisMachine(o.root)}
	problems := errors.Join(o.compare(ctx, e, &report), o.latencies(ctx, e, &report))
	report.Took = time.Since(report.Began)
	mustDo(errors.Join(problems, o.write(report), e.Close()))
}

// measured measures the items that are selected. An error in one does not stop the others.
func measured[Item any](o options, e *Environment, items []Item, describe func(Item) (id, title string), measure func(Item)) error {
	var problems []error
	for _, item := range items {
		id, title := describe(item)
		if !o.wants(id) {
			continue
		}
		fmt.Fprintln(e.Log, title)
		if err := errors.Join(caught(func() { measure(item) }), e.endRow()); err != nil {
			fmt.Fprintln(e.Log, "  ", err)
			problems = append(problems, fmt.Errorf("measure %s: %w", id, err))
		}
	}
	return errors.Join(problems...)
}

func (o options) compare(ctx context.Context, e *Environment, report *Report) error {
	rows := slices.DeleteFunc(Rows(&report.Importing), func(row Row) bool { return row.rounds(o.quick) == 0 })
	return measured(o, e, rows, func(row Row) (id, title string) { return row.ID, row.Name + " (" + row.ID + ")" }, func(row Row) {
		result := row.run(ctx, e)
		report.Results = append(report.Results, result)
		if row.Unit == "requests/s" {
			e.saturations[row.ID] = result.Pnyx.Median
		}
	})
}

func (o options) latencies(ctx context.Context, e *Environment, report *Report) error {
	length := 20 * time.Second
	if o.quick {
		length = 4 * time.Second
	}
	return measured(o, e, Latencies(), func(l Latency) (id, title string) { return l.ID, "latency: " + l.Name }, func(l Latency) {
		result := l.run(ctx, e, length)
		fmt.Fprintf(e.Log, "  %s requests/s: p50 %.2f, p99 %.2f, p99.9 %.2f, longest %.2f ms\n",
			figure(result.Rate), result.P50, result.P99, result.P999, result.Max)
		report.Latencies = append(report.Latencies, result)
	})
}

// write prints the report and writes the documents.
func (o options) write(report Report) error {
	report.Markdown(os.Stdout)
	fmt.Printf("\nmeasured in %s\n", report.Took.Round(time.Second))
	if o.docs == "" {
		return nil
	}
	var text strings.Builder
	report.Markdown(&text)
	kept, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(o.docs, "bench.md"), []byte(text.String()), 0o644), //nolint:gosec // a document
		os.WriteFile(filepath.Join(o.dir, "last.json"), kept, 0o600),
		report.writeCapacity(filepath.Join(o.docs, "capacity.md")),
	)
}
