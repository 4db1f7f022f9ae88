package drills

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pnyx/test/env"
)

const (
	soakRate    = 50 // requests a second
	soakCold    = 5  // percent of them, for pages made on demand
	soakImports = 5 * time.Second
	soakSamples = 5 * time.Second // between two looks
	soakSkip    = 6               // the first sixth is for warming up
)

// gauge is a quantity that must not grow.
type gauge struct {
	name, unit string
	// scale makes the unit of what is read.
	scale float64
	// share and room bound the growth: by so much of what it was, or by so many units.
	share, room float64
	read        func() (float64, error)
	// least takes the smallest look of a minute, as garbage comes and goes.
	least bool
}

// bound is what the last part of the run may show at the most, after what the first
// part has shown.
func (g *gauge) bound(first float64) float64 { return max(first*(1+g.share), first+g.room) }

// TestSoak asks at a steady rate for as long as PNYX_TEST_SOAK says, while ballots are
// imported, and looks at what the processes hold. It writes what it saw to the file
// that PNYX_TEST_SOAK_REPORT names.
func TestSoak(t *testing.T) {
	lasts, err := time.ParseDuration(gate(t, "PNYX_TEST_SOAK", "make soak"))
	if err != nil {
		t.Fatal(err)
	}
	w := loadDataset(t)
	s := newDeployment(t, w, deploymentOptions{})
	s.open()
	poll := w.poll.begin()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	imports := make(chan struct{})
	go func() {
		defer close(imports)
		s.importing(ctx, poll, soakImports)
	}()
	began := time.Now()
	l := newLoad(t, w, poll, soakRate, soakCold, s.apis[0].base)
	l.start()
	gauges := s.gauges()
	minutes := watch(t, gauges, lasts)
	l.stop()
	cancel()
	<-imports

	sum := l.tally()
	report := soakReport(gauges, minutes, sum, time.Since(began), len(poll.imported))
	if path := os.Getenv("PNYX_TEST_SOAK_REPORT"); path != "" {
		if err := os.WriteFile(path, []byte(report), 0o600); err != nil {
			t.Error(err)
		}
	}
	t.Log(report)
	if sum.wrong+sum.broken > 0 {
		t.Errorf("%d wrong, %d without an answer of %d requests:\n%s", sum.wrong, sum.broken, sum.requests, strings.Join(l.problems, "\n"))
	}
	for i, g := range gauges {
		if first, last := ends(minutes, i); last > g.bound(first) {
			t.Errorf("%s grew from %.1f to %.1f %s, more than to %.1f", g.name, first, last, g.unit, g.bound(first))
		}
	}
}

// gauges are those of the processes of a deployment.
func (s *deployment) gauges() []gauge {
	const mib = 1 << 20
	var all []gauge
	for _, n := range []*node{s.apis[0], s.workers[0]} {
		of := func(metric string) func() (float64, error) {
			return func() (float64, error) { return n.metric(metric) }
		}
		role := n.role
		all = append(
			all,
			gauge{role + " resident", "MiB", mib, 0.15, 10, of("process_resident_memory_bytes"), false},
			gauge{role + " heap after GC", "MiB", mib, 0.15, 5, of("go_memstats_heap_alloc_bytes"), true},
			gauge{role + " goroutines", "", 1, 0.1, 15, of("go_goroutines"), true},
			gauge{role + " descriptors", "", 1, 0.1, 10, of("process_open_fds"), true},
		)
	}
	engine := func() (float64, error) {
		bytes, err := env.ResidentMemory(s.engine.Instance().EnginePID)
		return float64(bytes), err
	}
	return append(
		all,
		gauge{"Redis used", "MiB", mib, 0.15, 3, s.redis.used, true},
		gauge{"ClickHouse resident", "MiB", mib, 0.3, 300, engine, false},
	)
}

// used is the memory that Redis uses, in bytes.
func (r *redisServer) used() (float64, error) {
	conn, err := net.DialTimeout("tcp", r.Addr, time.Second)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return 0, err
	}
	if _, err := io.WriteString(conn, "INFO memory\r\nQUIT\r\n"); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), "used_memory:"); found {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("no used_memory: %w", lines.Err())
}

// watch reads the gauges every few seconds, and returns a row a minute, in their units.
func watch(t *testing.T, gauges []gauge, lasts time.Duration) (minutes [][]float64) {
	t.Helper()
	ticker := time.NewTicker(soakSamples)
	defer ticker.Stop()
	over := time.After(lasts)
	looks := make([][]float64, len(gauges))
	for minute := time.Now().Add(time.Minute); ; {
		select {
		case <-over:
			return minutes
		case <-ticker.C:
		}
		for i, g := range gauges {
			value, err := g.read()
			if err != nil {
				t.Fatalf("%s: %v", g.name, err)
			}
			looks[i] = append(looks[i], value/g.scale)
		}
		if time.Now().Before(minute) {
			continue
		}
		minute = minute.Add(time.Minute)
		row := make([]float64, len(gauges))
		for i, g := range gauges {
			row[i] = median(looks[i])
			if g.least {
				row[i] = slices.Min(looks[i])
			}
			looks[i] = nil
		}
		minutes = append(minutes, row)
	}
}

// ends compares the second sixth of a run with the last, by their medians.
func ends(minutes [][]float64, gauge int) (first, last float64) {
	part := max(1, len(minutes)/soakSkip)
	if len(minutes) < 3 {
		return math.NaN(), math.NaN()
	}
	column := func(rows [][]float64) (values []float64) {
		for _, row := range rows {
			values = append(values, row[gauge])
		}
		return values
	}
	return median(column(minutes[part : 2*part])), median(column(minutes[len(minutes)-part:]))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// soakReport is the run in Markdown.
func soakReport(gauges []gauge, minutes [][]float64, sum tally, lasted time.Duration, imports int) string {
	var out strings.Builder
	out.WriteString("# Under load for long\n\nWritten by `make soak`: one API process, one worker, the engine, Redis.\n\n")
	fmt.Fprintf(&out, "%s at %d requests a second, each answer checked, while a ballot was imported every %s (%d imports), on %s:\n"+
		"%d requests, %d wrong, %d without an answer, %d refused, the slowest %d ms.\n\n",
		lasted.Round(time.Minute), soakRate, soakImports, imports, time.Now().UTC().Format(time.DateOnly),
		sum.requests, sum.wrong, sum.broken, sum.refused, sum.slowest.Milliseconds())
	out.WriteString("| | second sixth of the run | last sixth | may be | by the minute |\n|---|---:|---:|---:|---|\n")
	for i, g := range gauges {
		first, last := ends(minutes, i)
		fmt.Fprintf(&out, "| %s | %.1f %s | %.1f %s | %.1f %s | `%s` |\n",
			g.name, first, g.unit, last, g.unit, g.bound(first), g.unit, sparkline(minutes, i))
	}
	return out.String()
}

// sparkline draws a gauge from 0 up, in at most 30 columns.
func sparkline(minutes [][]float64, gauge int) string {
	const columns = 30
	bars := []rune("▁▂▃▄▅▆▇█")
	most := 0.0
	for _, row := range minutes {
		most = max(most, row[gauge])
	}
	var line strings.Builder
	for c := range min(columns, len(minutes)) {
		value := minutes[c*len(minutes)/min(columns, len(minutes))][gauge]
		line.WriteRune(bars[min(len(bars)-1, int(value/max(most, 1e-9)*float64(len(bars)-1)+0.5))])
	}
	return line.String()
}
