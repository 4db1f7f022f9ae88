package main

import (
	"strings"
	"testing"
)

func TestWrkIsReadAndErrorsAreNotARate(t *testing.T) {
	t.Parallel()
	const fine = "  12345 requests in 2.00s, 1.00MB read\nRequests/sec:  61725.50\nTransfer/sec: 5MB\n"
	if got, err := readWrk(fine); err != nil || got != 61725.5 {
		t.Errorf("got %v, %v, want 61725.5", got, err)
	}
	for _, bad := range []string{"  Non-2xx or 3xx responses: 3\n" + fine, "  Socket errors: connect 0, read 1, write 0, timeout 0\n" + fine, ""} {
		if got, err := readWrk(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

func TestRedisBenchmarkIsRead(t *testing.T) {
	t.Parallel()
	const text = "\"test\",\"rps\",\"avg_latency_ms\"\n\"GET\",\"74074.07\",\"0.4\"\n"
	if got, err := readRedisBenchmark(text); err != nil || got != 74074.07 {
		t.Errorf("got %v, %v, want 74074.07", got, err)
	}
}

func TestASpreadIsMedianAndExtremes(t *testing.T) {
	t.Parallel()
	if got, want := spreadOf([]float64{3, 1, 10, 2}), (Spread{Min: 1, Median: 2.5, Max: 10, Count: 4}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestARunWithoutAllFiguresPlansNothing(t *testing.T) {
	t.Parallel()
	report := Report{Size: sizeOf(false), Latencies: []LatencyResult{{ID: "latency-cold", Rate: 50}}}
	for _, id := range []string{"hot-free", "hot-paid", "memory", "redis-memory", "disk"} {
		report.Results = append(report.Results, Result{Row: Row{ID: id}, Pnyx: Spread{Median: 20}})
	}
	if _, complete := report.capacity(); complete {
		t.Error("got a plan without the time of a publication")
	}
	report.Results = append(report.Results, Result{Row: Row{ID: "publish"}, Pnyx: Spread{Median: 30}})
	plan, complete := report.capacity()
	if !complete || !strings.Contains(plan.markdown(), "10,000 ÷ 10.0 = **1000**") {
		t.Errorf("got %s, want 1000 cores for 10,000 requests a second at 10 each", plan.markdown())
	}
}
