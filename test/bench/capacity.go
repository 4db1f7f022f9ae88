package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
)

// The load that capacity is planned for: requests per second, and ballots.
const (
	plannedRate    = 10_000
	plannedBallots = 100_000_000
)

// The capacity page contains the figures of the report between these lines.
const (
	capacityBegin = "<!-- capacity:begin -->\n"
	capacityEnd   = "<!-- capacity:end -->\n"
)

// writeCapacity updates the figures of the capacity page, if the run measured all of them.
func (r Report) writeCapacity(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the capacity page: %w", err)
	}
	before, rest, begun := strings.Cut(string(text), capacityBegin)
	_, after, ended := strings.Cut(rest, capacityEnd)
	if !begun || !ended {
		return errors.New("the capacity page lacks the lines between which figures are written")
	}
	figures, complete := r.capacity()
	if !complete {
		return nil
	}
	return os.WriteFile(path, []byte(before+capacityBegin+figures.markdown()+capacityEnd+after), 0o644) //nolint:gosec // a document
}

type capacity struct {
	// free, paid and cold are the saturation rates of one core, in requests per second.
	free, paid, cold float64
	// node is the memory of a node in MB, view the memory of Redis a proposal in KB, ballot the disk space of one in
	// bytes.
	node, view, ballot float64
	// publish is the duration of a full publication, in seconds.
	publish float64
	size    Size
}

// capacity collects the figures and reports whether they are complete.
func (r Report) capacity() (c capacity, complete bool) {
	found := map[string]float64{}
	for _, result := range r.Results {
		found[result.Row.ID] = result.Pnyx.Median
	}
	for _, l := range r.Latencies {
		found[l.ID] = 2 * l.Rate
	}
	complete = true
	of := func(id string) float64 {
		complete = complete && found[id] > 0
		return found[id]
	}
	c = capacity{
		free: of("hot-free"), paid: of("hot-paid"), cold: of("latency-cold"), node: of("memory"),
		view: of("redis-memory"), ballot: of("disk"), publish: of("publish"), size: r.Size,
	}
	return c, complete
}

func (c capacity) markdown() string {
	times := plannedBallots / float64(c.size.Ballots)
	proposals := times * float64(c.size.Proposals)
	cores := math.Ceil(plannedRate / (c.paid / 2))
	var text strings.Builder
	fmt.Fprintf(&text, "\n| | in the last run |\n|---|---:|\n")
	for _, line := range []struct {
		name, value string
	}{
		{"hot free answers per second, one core", figure(c.free)},
		{"hot paid answers per second, one core, Redis on the same core", figure(c.paid)},
		{"cold pages of 500 ballots per second, warehouse and worker on the same two cores", figure(c.cold)},
		{"peak memory of a node", figure(c.node) + " MB"},
		{"Redis memory per proposal", figure(c.view) + " KB"},
		{"warehouse disk space per ballot", figure(c.ballot) + " bytes"},
		{fmt.Sprintf("full publication, %s ballots, two cores", grouped(float64(c.size.Ballots))), figure(c.publish) + " s"},
	} {
		fmt.Fprintf(&text, "| %s | %s |\n", line.name, line.value)
	}
	fmt.Fprintf(&text, `
**%s requests a second**, all of them paid and none answered by the edge: a core is planned for half of its saturation rate,
%s ÷ 2 = %s a second. Cores for nodes and Redis together: %s ÷ %s = **%.0f**, and **%.0f MB** for as many nodes with one core each.
Free answers take %s ÷ (%s ÷ 2) = %.0f. Requests that the edge answers are not included.

**%s ballots** are %.0f times the run's, with the same distribution %s proposals. Disk: %s × %s bytes = **%s GB** in each
replica. Redis: %s × %s KB = **%s GB**. A full publication, needed only after Redis was flushed: %.0f × %s s = **%s minutes** on two
cores; cached answers are served meanwhile. It gets faster with more cores and shards of the warehouse. A daily import costs only what
it changes.

`, grouped(plannedRate), figure(c.paid), figure(c.paid/2), grouped(plannedRate), figure(c.paid/2), cores, cores*c.node,
		grouped(plannedRate), figure(c.free), math.Ceil(plannedRate/(c.free/2)),
		grouped(plannedBallots), times, grouped(proposals), grouped(plannedBallots), figure(c.ballot), figure(plannedBallots*c.ballot/1e9),
		grouped(proposals), figure(c.view), figure(proposals*c.view/1e6), times, figure(c.publish), figure(times*c.publish/60))
	return text.String()
}

// grouped formats a number, rounded to an integer, with commas between thousands.
func grouped(number float64) string {
	text := fmt.Sprintf("%.0f", number)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
