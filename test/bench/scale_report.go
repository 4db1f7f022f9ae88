package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ScaleReport holds the measurements at every size of the warehouse.
type ScaleReport struct {
	Machine Machine
	Began   time.Time
	Points  []Point // in ascending order of sizes
}

// extrapolatedBallots is the number of ballots to which the curves are extrapolated.
const extrapolatedBallots = 100e6

// curve is one figure as a function of the size.
type curve struct {
	name, unit string
	of         func(Point) float64
}

func (r ScaleReport) curves() []curve {
	all := []curve{
		{"full publish", "s", func(p Point) float64 { return p.Publish }},
		{"plain statements that read the same rows once", "s", func(p Point) float64 { return p.Statements }},
		{"ballot on a small proposal → in its summary", "s", func(p Point) float64 { return p.Small }},
		{"the first ballot on the largest proposal after a start → in its summary", "s", func(p Point) float64 { return p.First }},
		{fmt.Sprintf("a later one, counted by range → in its summary, the median of %d without a pause", rangedRounds), "s", func(p Point) float64 { return p.Big }},
		{"the slowest of these", "s", func(p Point) float64 { return p.Slowest }},
		{"import of 50,000 ballots on the largest proposal", "ballots/s", func(p Point) float64 { return p.Import }},
		{"worker, peak resident memory", "MB", func(p Point) float64 { return p.WorkerMemory / 1e6 }},
		{"Redis memory per proposal", "KB", func(p Point) float64 { return p.RedisBytes / 1e3 / float64(p.Proposals) }},
		{"warehouse disk space per ballot", "bytes", func(p Point) float64 { return p.DiskBytes / float64(p.Ballots) }},
	}
	for i, pages := range r.Points[0].Pages {
		all = append(all, curve{"cold page: " + pages.Name, "ms", func(p Point) float64 { return p.Pages[i].Median }},
			curve{"the slowest of these", "ms", func(p Point) float64 { return p.Pages[i].Slowest }})
	}
	return all
}

// growth returns the exponent with which a curve grows: 0 is constant, 1 is proportional to the data.
func (r ScaleReport) growth(c curve) float64 {
	first, last := r.Points[0], r.Points[len(r.Points)-1]
	return math.Log(c.of(last)/c.of(first)) / math.Log(float64(last.Ballots)/float64(first.Ballots))
}

// extrapolate extrapolates a curve from its last two points.
func (r ScaleReport) extrapolate(c curve) float64 {
	n := len(r.Points)
	last, before := r.Points[n-1], r.Points[max(n-2, 0)]
	if last.Ballots == before.Ballots {
		return c.of(last)
	}
	slope := math.Log(c.of(last)/c.of(before)) / math.Log(float64(last.Ballots)/float64(before.Ballots))
	return c.of(last) * math.Pow(extrapolatedBallots/float64(last.Ballots), slope)
}

// Markdown writes the report as a document.
func (r ScaleReport) Markdown(out io.Writer) {
	fmt.Fprintf(out, `# Growth

Written by %[1]smake bench-scale%[1]s. The same measurements at each size of the warehouse, each time with a worker, a Redis and an
API node that had just started. A million generated ballots were imported; the rest are copies of them under other names, and
one proposal was enlarged. %[2]s, %[3]d cores, commit %[4]s, %[5]s.

| `, "`", r.Machine.Processor, r.Machine.Cores, r.Machine.Commit, r.Began.UTC().Format("2 January 2006"))
	for _, p := range r.Points {
		fmt.Fprintf(out, "| %.1f M ballots, %d proposals, %d DAOs, largest %d ", float64(p.Ballots)/1e6, p.Proposals, p.DAOs, p.Largest)
	}
	fmt.Fprintf(out, "| exponent | at 100 M |\n|---%s|---:|---:|\n", strings.Repeat("|---:", len(r.Points)))
	for _, c := range r.curves() {
		fmt.Fprintf(out, "| %s, %s ", c.name, c.unit)
		for _, p := range r.Points {
			fmt.Fprintf(out, "| %s ", figure(c.of(p)))
		}
		if len(r.Points) > 1 {
			fmt.Fprintf(out, "| %.2f | %s |\n", r.growth(c), figure(r.extrapolate(c)))
			continue
		}
		fmt.Fprintln(out, "| | |")
	}
	fmt.Fprintln(out, `
An exponent of 0 means constant, 1 means proportional to the data. The last column extrapolates from the last two sizes; it holds as
long as memory and disk suffice.`)
}

func (r ScaleReport) write(docs string) error {
	var text strings.Builder
	r.Markdown(&text)
	return os.WriteFile(filepath.Join(docs, "scale.md"), []byte(text.String()), 0o644) //nolint:gosec // a document
}
