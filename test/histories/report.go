package histories

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxProblem bounds what the report quotes of a violation, in bytes.
const maxProblem = 200

// reportHead is what the report says before its tables.
const reportHead = `<!-- Written by make test-histories: change the program, not this file. -->
# Checked histories

` + "`make test-histories FOR=10m`" + ` records what clients of a deployment see while its parts break, and checks it against models
([ADR 65](../../docs/adr/0065-drills.md)). Two API nodes behind nginx, two workers, the engine, a facilitator and Redis are processes of their own. Ten clients
cast ballots, issue, rotate, revoke and use up tokens, read, walk lists by cursor, export, pay and follow the changes; another one is
sent events. With live sources, two followers follow a hub and a forum whose records change meanwhile. In each history something breaks 6 times, in a
quarter of the cases two things together.

A seed makes the schedule of faults and the choices of the clients: ` + "`make test-histories SEED=…`" + ` plays it again. How processes and
packets interleave is not in the seed, so that a violation may take several tries. A history that a model rules out is kept in a file.

Each history is a line of ` + "`test/histories/results.ndjson`" + `, from which this page is made.
`

// Report is all results in Markdown.
func Report(results []Result) string {
	var out strings.Builder
	out.WriteString(reportHead)
	if len(results) == 0 {
		return out.String()
	}
	seconds, operations, kinds, faults, alone := 0, 0, map[string][]Result{}, map[string]int{}, 0
	first, last := results[0].Date, results[0].Date
	for _, r := range results {
		first, last = min(first, r.Date), max(last, r.Date)
		seconds, operations, alone = seconds+r.Seconds, operations+r.Operations, alone+r.Alone
		kinds[r.Kind] = append(kinds[r.Kind], r)
		for name, times := range r.Faults {
			faults[name] += times
		}
	}
	fmt.Fprintf(&out, "\nFrom %s to %s: %d histories, %.1f hours, %d operations, %d faults.\n\n",
		first, last, len(results), float64(seconds)/3600, operations, sum(faults))
	out.WriteString("| deployment | histories | minutes | operations | faults | with a violation |\n|---|---:|---:|---:|---:|---:|\n")
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		out.WriteString(kindRow(kind, kinds[kind]))
	}
	out.WriteString(violationTable(results))
	out.WriteString("\n| fault | times |\n|---|---:|\n")
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		fmt.Fprintf(&out, "| %s | %d |\n", name, faults[name])
	}
	fmt.Fprintf(&out, "| %s | %d |\n", CountsByItself, alone)
	return out.String()
}

func kindRow(kind string, results []Result) string {
	seconds, operations, faults, failed := 0, 0, 0, 0
	for _, r := range results {
		seconds, operations, faults = seconds+r.Seconds, operations+r.Operations, faults+sum(r.Faults)
		if len(r.Violations) > 0 {
			failed++
		}
	}
	return fmt.Sprintf("| %s | %d | %.1f | %d | %d | %d |\n", kind, len(results), float64(seconds)/60, operations, faults, failed)
}

// violationTable has a row for each history with violations.
func violationTable(results []Result) string {
	var out strings.Builder
	for _, r := range results {
		if len(r.Violations) == 0 {
			continue
		}
		if out.Len() == 0 {
			out.WriteString("\n| violation | seed | build | deployment | what became of it |\n|---|---:|---|---|---|\n")
		}
		problem := strings.NewReplacer("|", "\\|", "\n", " ").Replace(fmt.Sprintf("%.*s", maxProblem, r.Violations[0]))
		if more := len(r.Violations) - 1; more > 0 {
			problem += fmt.Sprintf(" (and %d more)", more)
		}
		fmt.Fprintf(&out, "| %s | %d | %s | %s | %s |\n", problem, r.Seed, r.Build, r.Kind, cmp.Or(r.Became, "open"))
	}
	if out.Len() == 0 {
		return "\nNo model has found a violation.\n"
	}
	return out.String()
}

func sum(counts map[string]int) (total int) {
	for _, n := range counts {
		total += n
	}
	return total
}
