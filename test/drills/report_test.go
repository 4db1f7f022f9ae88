package drills

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// writeReport writes the table of all drills. Rows of drills that were not played stay.
func writeReport(path string, results []result) error {
	rows := map[string]string{}
	if before, err := os.ReadFile(path); err == nil {
		for line := range strings.Lines(string(before)) {
			if cells := strings.Split(line, " | "); len(cells) > 5 {
				rows[strings.TrimPrefix(cells[0], "| ")] = strings.TrimSpace(line)
			}
		}
	}
	for _, r := range results {
		rows[r.drill.name] = r.row()
	}
	return os.WriteFile(path, []byte(drillReport(rows)), 0o600)
}

// drillReport is the table in Markdown, of rows by the names of their drills.
func drillReport(rows map[string]string) string {
	var out strings.Builder
	fmt.Fprintf(&out, `<!-- Written by make test-drills: change the program, not this file. -->
# Failure drills

This page shows how Pnyx behaves when a part of it fails under load. `+"`make test-drills`"+` runs each drill with real
processes: API nodes and workers, Redis, the engine, a facilitator, and network proxies that inject faults. Every
drill has the same load: %d requests a second and a payment every %s. %d %% of the requests are for pages that have to be built. %d %% are about
a vote in progress: a ballot is imported every second, and the expected answers are recounted. The others are free or have a
token, and are compared byte by byte with the answers of an undisturbed run.

*Wrong* counts incorrect answers, malformed errors (no envelope, or a 503 without `+"`Retry-After`"+`), a 503
of a free route that the node has answered before, and answers for which no caller was charged. *Refused* counts well-formed errors. *Unanswered* counts requests without a response.
*Recovery* is the time from the end of the fault until every node is ready, serves the data imported since, and no
request fails any more. *Slowest* is the longest response time.

Settings are the defaults except %s, and shorter timeouts of the facilitator. Each row is from the last run of its drill. The newest is of %s, on %d cores shared with other work:

| drill | what is done | requests | wrong | refused | unanswered | marked stale | bought | slowest | recovery |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
`, drillRate, payInterval, drillCold, 10, othersThanDefault(), time.Now().UTC().Format(time.DateOnly), runtime.NumCPU())
	for _, d := range drills() {
		row, played := rows[d.name]
		if !played {
			row = fmt.Sprintf("| %s | %s | not yet | | | | | | | |", d.name, d.fault)
		}
		fmt.Fprintln(&out, row)
	}
	return out.String()
}

// row is a line of the table.
func (r *result) row() string {
	fault := r.drill.fault
	if r.remark != "" {
		fault += " (" + r.remark + ")"
	}
	t := r.tally
	if r.failed {
		fault += " **(failed)**"
	}
	if t.requests == 0 {
		return fmt.Sprintf("| %s | %s | it ended early: no recovery in time, or a process ended | | | | | | | |", r.drill.name, fault)
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d | %d | %.1f s | %.1f s |", r.drill.name, fault,
		t.requests, t.wrong, t.refused, t.broken, t.stale, r.bought, t.slowest.Seconds(), r.recovery.Seconds())
}

// othersThanDefault are the settings that this machine needs.
func othersThanDefault() string {
	settings := []string{"`PNYX_PUBLISH_INTERVAL=250ms`", "`PNYX_FREE_RATE=0`"}
	for _, setting := range os.Environ() {
		if strings.HasPrefix(setting, "PNYX_") && !strings.HasPrefix(setting, "PNYX_TEST_") {
			settings = append(settings, "`"+setting+"`")
		}
	}
	return strings.Join(settings, ", ")
}
