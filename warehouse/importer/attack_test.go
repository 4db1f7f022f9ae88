package importer_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pnyx/test/env"
	"pnyx/warehouse/importer"
)

// TestAttackSmallFileLeavesBoundedRejects imports half a million lines of two bytes, which
// have a file of some kilobytes.
func TestAttackSmallFileLeavesBoundedRejects(t *testing.T) {
	t.Parallel()
	const lines = 500_000
	report, folder := importBomb(t, strings.Repeat("x\n", lines))
	env.Want(t, lines, report.Rejected, "rejected lines", "counted")
	info, err := os.Stat(report.RejectsFile)
	if err != nil || info.Size() > 16<<20 || info.Size() < 15<<20 {
		t.Fatalf("got %v (%v), want 16 MiB at most, and as many lines as fit", info, err)
	}
	text, err := os.ReadFile(report.RejectsFile)
	if err != nil || uint64(bytes.Count(text, []byte("\n"))) != report.RejectsKept || report.RejectsKept >= lines {
		t.Errorf("got %d lines (%v), want the %d that the report states", bytes.Count(text, []byte("\n")), err, report.RejectsKept)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("got %v (%v), want one file", entries, err)
	}
}

// TestAttackFileThatIsMostlyNothingEnds imports 80 MiB of one line, and of empty lines.
func TestAttackFileThatIsMostlyNothingEnds(t *testing.T) {
	t.Parallel()
	for _, text := range []string{" ", "\n"} {
		report, _ := importBomb(t, strings.Repeat(text, 80<<20))
		if len(report.Problems) != 1 || !strings.Contains(report.Problems[0].Error(), "compressed more than") {
			t.Errorf("%q: got %v, want a problem", text, report.Problems)
		}
	}
}

// importBomb imports a compressed file of votes, a valid one first.
func importBomb(t *testing.T, text string) (report importer.Report, rejects string) {
	t.Helper()
	const vote = `{"id":"0x1","proposal":{"id":"0xp"},"voter":"0x00000000000000000000000000000000000000AA",` +
		`"created":1700000000,"choice":1,"vp":1.25,"reason":null}` + "\n"
	path := filepath.Join(t.TempDir(), "votes.ndjson.gz")
	file := env.Must(os.Create(path))(t)
	zipped := gzip.NewWriter(file)
	env.Must(io.WriteString(zipped, vote+text))(t)
	env.MustDo(t, zipped.Close())
	env.MustDo(t, file.Close())
	rejects = t.TempDir()
	report = env.Must(importer.Run(t.Context(), []string{path}, importer.Options{
		Warehouse: env.Warehouse(t), BatchSize: 10, RejectsDir: rejects, Logger: slog.New(slog.DiscardHandler),
	}))(t)
	return report, rejects
}

func TestMain(m *testing.M) { env.Main(m) }
