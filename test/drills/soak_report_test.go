package drills

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"pnyx/test/histories"
)

// soakOutcomes sums up operations: a run of hours has too many to keep.
type soakOutcomes struct {
	mu         sync.Mutex
	operations map[histories.Kind]int
	// codes counts errors by kind and code, during faults and outside of them.
	codes map[string][2]int
	// wrong are the first wrong answers, of so many.
	wrong        []string
	wrongAnswers int
	log          func(args ...any)
	// took are the durations of operations since the last point, failed the errors outside of faults.
	took   map[histories.Kind][]float64
	failed int
}

func newSoakOutcomes(log func(args ...any)) *soakOutcomes {
	return &soakOutcomes{log: log, operations: map[histories.Kind]int{}, codes: map[string][2]int{}, took: map[histories.Kind][]float64{}}
}

// add sums up operations that ended while something was broken, or not.
func (s *soakOutcomes) add(done histories.History, broken bool) {
	const most = 20
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range done {
		o := &done[i]
		s.operations[o.Kind]++
		if o.Wrong != "" {
			if s.wrongAnswers++; len(s.wrong) < most {
				s.wrong = append(s.wrong, fmt.Sprintf("%s: %s", o, o.Wrong))
				s.log(s.wrong[len(s.wrong)-1])
			}
		}
		if o.Kind == histories.Fault || o.Kind == stream {
			continue
		}
		if s.fails(o, broken) || o.Kind == histories.Follow { // which waits
			continue
		}
		s.took[o.Kind] = append(s.took[o.Kind], (o.Return - o.Call).Seconds())
	}
}

// fails reports whether an operation had no answer, and counts that.
func (s *soakOutcomes) fails(o *histories.Operation, broken bool) bool {
	code := o.Code
	switch {
	case o.Status == 0:
		code = "no answer"
	case code == "" && o.Status != http.StatusOK && o.Status != http.StatusNotModified:
		code = fmt.Sprint(o.Status)
	}
	if code == "" {
		return false
	}
	count := s.codes[string(o.Kind)+" "+code]
	if broken {
		count[0]++
	} else {
		count[1]++
	}
	s.codes[string(o.Kind)+" "+code] = count
	if !broken && (o.Status == 0 || o.Status >= http.StatusInternalServerError) {
		s.failed++
	}
	return true
}

// minute returns how long operations took since the last point, and begins another.
func (s *soakOutcomes) minute() map[string]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	values := map[string]float64{"errors outside of faults": float64(s.failed)}
	for kind, took := range s.took {
		slices.Sort(took)
		values[string(kind)+" p50"] = took[len(took)/2]
		if len(took) >= 100 {
			values[string(kind)+" p99"] = took[len(took)*99/100]
		}
	}
	s.took, s.failed = map[histories.Kind][]float64{}, 0
	return values
}

// judgement is the growth of a value.
type judgement struct {
	growth

	name  string
	gauge gauge
}

// judge measures the growth of everything. Rows of the warehouse are data.
func (s *soak) judge() (all []judgement) {
	for _, name := range slices.Sorted(maps.Keys(s.series)) {
		g := gaugeOf(name)
		if strings.Contains(name, "rows: ") {
			continue
		}
		all = append(all, judgement{growthOf(s.series[name], g.bound), name, g})
	}
	return all
}

// reportFailures fails the test for wrong answers, and for what grew too much.
func (s *soak) reportFailures(judged []judgement) {
	s.tb.Helper()
	for _, wrong := range s.seen.wrong {
		s.tb.Error(wrong)
	}
	for _, one := range judged {
		if one.isTooMuch() {
			s.tb.Errorf("%s grew by %.4g %s in %.0f minutes, from %.4g; allowed is %.4g", one.name, one.by/one.gauge.scale, one.gauge.unit,
				one.minutes, one.from/one.gauge.scale, one.allowed/one.gauge.scale)
		}
	}
}

// report is the run in Markdown.
func (s *soak) report(lasted time.Duration, judged []judgement) string {
	var out strings.Builder
	out.WriteString("<!-- Written by make soak: change the program, not this file. -->\n# Under load for long\n\n")
	total := 0
	for _, count := range s.seen.operations {
		total += count
	}
	fmt.Fprintf(&out, "`make soak` runs everything: %s. It begins with about %d ballots. Every answer is checked by itself. Every two minutes something\n"+
		"breaks.\n\n", s, s.dataset.ballots)
	fmt.Fprintf(&out, "%s on %s: %d operations, %d faults, %d wrong answers.\n\n", lasted.Round(time.Minute),
		time.Now().UTC().Format(time.DateOnly), total, len(s.faults), s.seen.wrongAnswers)
	s.reportGrowth(&out, judged)
	s.reportData(&out)
	s.reportErrors(&out)
	return out.String()
}

// reportGrowth shows the values that grew, by a tenth of what they may or more.
func (s *soak) reportGrowth(out *strings.Builder, judged []judgement) {
	out.WriteString("## What did not grow\n\n" +
		"Growth is the median slope over the second half of the longest life of a process, times its length. What may be grows with the\n" +
		"data that was added meanwhile. The run fails where more is gained.\n\n" +
		"| | was | gained | may be | minutes | over the run |\n|---|---:|---:|---:|---:|---|\n")
	steady := 0
	for _, one := range judged {
		if one.minutes == 0 {
			continue
		}
		if one.by < one.allowed/10 {
			steady++
			continue
		}
		mark := ""
		if one.isTooMuch() {
			mark = " **too much**"
		}
		fmt.Fprintf(out, "| %s | %.4g %s | %.3g%s | %.3g | %.0f | `%s` |\n", one.name, one.from/one.gauge.scale, one.gauge.unit,
			one.by/one.gauge.scale, mark, one.allowed/one.gauge.scale, one.minutes, sparkline(s.series[one.name]))
	}
	fmt.Fprintf(out, "\n%d other values gained less than a tenth of that.\n", steady)
}

// reportData shows the data that came.
func (s *soak) reportData(out *strings.Builder) {
	out.WriteString("\n## What was added\n\n| rows of | at first | in the end |\n|---|---:|---:|\n")
	for _, name := range slices.Sorted(maps.Keys(s.series)) {
		table, is := strings.CutPrefix(name, "ClickHouse rows: ")
		if points := s.series[name]; is && points[0].value != points[len(points)-1].value {
			fmt.Fprintf(out, "| `%s` | %.0f | %.0f |\n", table, points[0].value, points[len(points)-1].value)
		}
	}
	out.WriteString("\n| operation | times |\n|---|---:|\n")
	for _, kind := range slices.Sorted(maps.Keys(s.seen.operations)) {
		fmt.Fprintf(out, "| %s | %d |\n", kind, s.seen.operations[kind])
	}
}

// reportErrors shows what broke, and what clients saw of it.
func (s *soak) reportErrors(out *strings.Builder) {
	times := map[string]int{}
	for _, name := range s.faults {
		times[name]++
	}
	out.WriteString("\n## What broke\n\n| fault | times |\n|---|---:|\n")
	for _, name := range slices.Sorted(maps.Keys(times)) {
		fmt.Fprintf(out, "| %s | %d |\n", name, times[name])
	}
	out.WriteString("\n| error | until the fault was over | otherwise |\n|---|---:|---:|\n")
	for _, code := range slices.Sorted(maps.Keys(s.seen.codes)) {
		fmt.Fprintf(out, "| %s | %d | %d |\n", code, s.seen.codes[code][0], s.seen.codes[code][1])
	}
}

// sparkline draws a value from 0 up, in at most 30 columns.
func sparkline(points []point) string {
	const columns = 30
	bars := []rune("▁▂▃▄▅▆▇█")
	most := 0.0
	for _, p := range points {
		most = max(most, p.value)
	}
	var line strings.Builder
	for c := range min(columns, len(points)) {
		value := points[c*len(points)/min(columns, len(points))].value
		line.WriteRune(bars[min(len(bars)-1, int(value/max(most, 1e-9)*float64(len(bars)-1)+0.5))])
	}
	return line.String()
}
