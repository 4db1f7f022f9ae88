package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Report holds all results of a run.
type Report struct {
	Began     time.Time
	Took      time.Duration
	Machine   Machine
	Quick     bool
	Size      Size
	Results   []Result
	Latencies []LatencyResult
	// Importing is drawn.
	Importing importing `json:"-"`
}

// Machine describes the hardware and software that figures were measured with.
type Machine struct {
	// Processor is from /proc/cpuinfo, Go as in "go1.25.0", and Commit the output of git describe.
	Processor, Kernel, Go, Commit string
	Cores                         int
}

func thisMachine(root string) Machine {
	m := Machine{Go: runtime.Version(), Processor: "unknown", Kernel: "unknown", Commit: "unknown", Cores: runtime.NumCPU()}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
				m.Processor = strings.TrimSpace(value)
			}
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if text, err := exec.Command("git", "-C", root, "describe", "--always", "--dirty").Output(); err == nil { //nolint:noctx,gosec // it does not wait
		m.Commit = strings.TrimSpace(string(text))
	}
	return m
}

// Markdown writes the report as a document.
func (r Report) Markdown(out io.Writer) {
	note := ""
	if r.Quick {
		note = " A quick run: few rounds, and less data than a full one."
	}
	fmt.Fprintf(out, `# Measured

Written by %[1]smake bench%[1]s; do not edit. Pnyx and a baseline, a minimal program for the same work, are measured in turns in
the same run, so that a slow or busy machine slows both. The ratio is Pnyx ÷ baseline: its median, minimum and maximum over the
rounds. The load generator has a core of its own; all programs that serve, Redis included, share another. Distinct cold pages are read
from merged parts, as they are some hours after an import.

%[2]s, %[3]d cores, Linux %[4]s, %[5]s, commit %[6]s, %[7]s. %[8]d generated ballots in %[9]d proposals of %[10]d DAOs, the largest
with %[11]d.%[12]s

`, "`", r.Machine.Processor, r.Machine.Cores, r.Machine.Kernel, r.Machine.Go, r.Machine.Commit, r.Began.UTC().Format("2 January 2006"),
		r.Size.Ballots, r.Size.Proposals, r.Size.DAOs, r.Size.Largest, note)
	r.markdownRatios(out)
	r.markdownLatencies(out)
	r.Importing.markdown(out)
}

func (r Report) markdownRatios(out io.Writer) {
	fmt.Fprintf(out, "## Against baselines\n\n| what | Pnyx | baseline | ratio: median (min – max) | bound | |\n|---|---:|---|---:|---|---|\n")
	for _, result := range r.Results {
		fmt.Fprintf(out, "| %s | %s %s | %s | %s | %s | %s |\n", result.Row.Name, figure(result.Pnyx.Median), result.Row.Unit,
			result.baseline(), result.ratio(), result.wanted(), result.verdict())
	}
	fmt.Fprintln(out)
}

// baseline formats the figure of the baseline, or without one the range of Pnyx.
func (r Result) baseline() string {
	if r.Baseline.Count == 0 {
		return fmt.Sprintf("%s – %s in %d rounds", figure(r.Pnyx.Min), figure(r.Pnyx.Max), r.Pnyx.Count)
	}
	return fmt.Sprintf("%s: %s", r.Row.Baseline, figure(r.Baseline.Median))
}

func (r Result) ratio() string {
	if r.Ratio.Count == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f (%.2f – %.2f)", r.Ratio.Median, r.Ratio.Min, r.Ratio.Max)
}

func (r Result) wanted() string {
	var bounds []string
	if r.Row.Ratio.Set() {
		bounds = append(bounds, "ratio "+r.Row.Ratio.String())
	}
	if r.Row.Value.Set() {
		bounds = append(bounds, r.Row.Value.String()+" "+r.Row.Unit)
	}
	return strings.Join(bounds, ", ")
}

func (r Result) verdict() string {
	switch {
	case r.wanted() == "":
		return ""
	case r.Reached():
		return "✓"
	}
	return "✗"
}

func (r Report) markdownLatencies(out io.Writer) {
	if len(r.Latencies) == 0 {
		return
	}
	fmt.Fprintf(out, `## Latency at half of the saturation rate

An open load: requests are sent on schedule, whether or not earlier ones were answered, and latency counts from the scheduled time.
In milliseconds; they include the delay of the load generator, which the plain Fiber handler under the same load shows.

| what | requests/s | p50 | p99 | p99.9 | max | failed |
|---|---:|---:|---:|---:|---:|---:|
`)
	for _, l := range r.Latencies {
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %d of %d |\n",
			l.Name, figure(l.Rate), figure(l.P50), figure(l.P99), figure(l.P999), figure(l.Max), l.Failed, l.Count)
	}
	fmt.Fprintln(out)
}
