package importer_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/importer"
	"pnyx/warehouse/record"
)

// BenchmarkImport imports 100,000 new ballots on 50 proposals. cpu-ns/record and the
// allocations exclude the engine, which is another process.
func BenchmarkImport(b *testing.B) {
	const ballots = 100_000
	file := ballotsFile(b, ballots)
	instance := env.SharedEngine(b)
	b.ReportAllocs()
	var cpu time.Duration
	for b.Loop() {
		b.StopTimer()
		opened := open(b, instance.URL(env.EngineDatabase(b, instance)))
		b.StartTimer()
		before := processorTime(b)
		report, err := importer.Run(b.Context(), []string{file}, importer.Options{
			Warehouse: opened, BatchSize: 60_000, RejectsDir: b.TempDir(), Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil || report.Kinds[record.KindBallot].New != ballots {
			b.Fatalf("got %+v, %v, want %d new ballots", report, err, ballots)
		}
		cpu += processorTime(b) - before
	}
	b.ReportMetric(float64(ballots*b.N)/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(ballots*b.N), "cpu-ns/record")
}

// open opens a new warehouse.
func open(b *testing.B, url string) *warehouse.Warehouse {
	b.Helper()
	opened, err := warehouse.Open(b.Context(), warehouse.Options{URL: url, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = opened.Close() })
	return opened
}

// ballotsFile writes n ballots in Snapshot's format. Every tenth has weights.
func ballotsFile(b *testing.B, n int) string {
	b.Helper()
	var lines strings.Builder
	for i := range n {
		choice := "1"
		if i%10 == 0 {
			choice = `{"1":3,"2":1}`
		}
		fmt.Fprintf(&lines, `{"id":"0x%064x","proposal":{"id":"0x%064x"},"voter":"0x%040X","created":%d,"choice":%s,"vp":%d.25,"reason":null}`+"\n",
			i, i%50, i, 1_700_000_000+i, choice, i)
	}
	path := filepath.Join(b.TempDir(), "votes.ndjson")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// processorTime returns the CPU time of this process so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
