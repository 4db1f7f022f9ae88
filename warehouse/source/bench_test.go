package source_test

import (
	"errors"
	"io"
	"testing"

	"pnyx/warehouse/source"
)

// BenchmarkSnapshotVotes reads 10,000 ballots, from disk to record.
func BenchmarkSnapshotVotes(b *testing.B) {
	file := votesFile(b, pack(b, ballots(10_000)))
	benchmark(b, []source.File{file})
}

// BenchmarkRealSnapshotVotes reads all ballots of the real data.
func BenchmarkRealSnapshotVotes(b *testing.B) {
	files, problems := source.Find([]string{realData(b) + "/snapshot/votes"})
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	benchmark(b, files)
}

func benchmark(b *testing.B, files []source.File) {
	b.Helper()
	b.ReportAllocs()
	records := 0
	for b.Loop() {
		for _, file := range files {
			records += countRecords(b, file)
		}
	}
	b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
}

func countRecords(b *testing.B, file source.File) int {
	b.Helper()
	reader, err := source.Open(file, source.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = reader.Close() }()

	for records := 0; ; records++ {
		if _, err := reader.Next(); errors.Is(err, io.EOF) {
			return records
		} else if err != nil {
			b.Fatal(err)
		}
	}
}
