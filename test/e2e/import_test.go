package e2e_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/engine"
)

const (
	goodSpace    = `{"id":"a.eth","name":"A","network":"1","symbol":"A"}`
	goodProposal = `{"id":"0xp","space":{"id":"a.eth"},"author":"0xA","type":"single-choice","title":"T","choices":["For","Against"],"state":"closed"}`
	goodVote     = `{"id":"v1","proposal":{"id":"0xp"},"space":{"id":"a.eth"},"voter":"0xAb","created":1700000000,"choice":1,"vp":1.000000000000000001}`
)

func TestImportReportsBadRecordsAndKeepsTheOthers(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	dir := t.TempDir()
	in := filepath.Join(dir, "in", "snapshot")
	env.WriteLines(t, filepath.Join(in, "spaces.ndjson"), goodSpace)
	env.WriteLines(t, filepath.Join(in, "proposals.ndjson"), goodProposal, "this is not JSON")
	env.WriteLines(t, filepath.Join(in, "votes", "bad.ndjson"),
		goodVote,
		strings.Replace(strings.Replace(goodVote, "v1", "v2", 1), "1.000000000000000001", "-1", 1),
		strings.Replace(strings.Replace(goodVote, "v1", "v3", 1), "0xAb", "0x"+strings.Repeat("a", 10<<20), 1),
		strings.Replace(strings.Replace(strings.Replace(goodVote, "v1", "v4", 1), "0xp", "0xunknown", 1), "0xAb", "0xc", 1),
		strings.Replace(strings.Replace(goodVote, "v1", "v5", 1), "0xAb", "0xd", 1))
	env.WriteLines(t, filepath.Join(in, "recipes.ndjson"), `{"flour":"500 g","eggs":3}`)
	truncated := gzipped(t, strings.Repeat(strings.Replace(strings.Replace(goodVote, "v1", "v6", 1), "0xAb", "0xe", 1)+"\n", 20000))
	if err := os.WriteFile(filepath.Join(in, "votes", "cut.ndjson.gz"), truncated[:len(truncated)/2], 0o600); err != nil {
		t.Fatal(err)
	}

	url := env.DatabaseURL(t)
	environ := []string{"PNYX_DATA=" + filepath.Join(dir, "data"), "CLICKHOUSE_URL=" + url}
	env.MustRun(t, environ, "migrate")
	out, status := env.Run(t, environ, "import", filepath.Join(dir, "in"))
	if status != 3 {
		t.Errorf("got status %d, want 3: %s", status, out)
	}
	for _, want := range []string{"recipes.ndjson", "flour", "cut.ndjson.gz", "rejected records are kept in", "1 ballots wait"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
	checkRejects(t, filepath.Join(dir, "data", "rejects"))

	held := env.Column(t, env.ConnectWarehouse(t, url), "SELECT toString((arraySort(groupArray(vote_id)), sum(power))) FROM ballots FINAL")[0]
	if held != "(['v1','v4','v5','v6'],4.000000000000000004)" {
		t.Errorf("got %s, want exactly the valid ballots", held)
	}
	if out, status := env.Run(t, environ, "import", "--tolerate-rejects", filepath.Join(in, "votes", "bad.ndjson")); status != 0 {
		t.Errorf("tolerated: got status %d, want 0: %s", status, out)
	}
}

// checkRejects checks that rejected lines are kept with their reasons.
func checkRejects(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.ndjson"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v (%v), want one rejects file", files, err)
	}
	text := env.ReadFile(t, files[0])
	want := map[string]string{"proposals.ndjson:2": "JSON", "bad.ndjson:2": "negative", "bad.ndjson:3": "longer than"}
	for line := range bytes.Lines(text) {
		var rejected struct {
			File, Reason, Text string
			Line               int
		}
		env.Decode(t, line, &rejected)
		at := fmt.Sprintf("%s:%d", filepath.Base(rejected.File), rejected.Line)
		reason, expected := want[at]
		if !expected || !strings.Contains(rejected.Reason, reason) || rejected.Text == "" {
			t.Errorf("%s: got reason %q and %d bytes of text, want %q", at, rejected.Reason, len(rejected.Text), reason)
		}
		delete(want, at)
	}
	if len(want) > 0 {
		t.Errorf("not among the rejects: %v", want)
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var zipped bytes.Buffer
	// No compression: half of the bytes are half of the lines.
	writer, err := gzip.NewWriterLevel(&zipped, gzip.NoCompression)
	if err == nil {
		_, err = writer.Write([]byte(text))
	}
	if err := errors.Join(err, writer.Close()); err != nil {
		t.Fatal(err)
	}
	return zipped.Bytes()
}

func TestLongImportWithoutAnInstanceIsPublished(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	data := env.DataSet(t, 1_000)
	served := startShared(t, nil, "serve").ready()
	served.Import(data)
	served.AwaitPublished()
	const views = "SELECT (SELECT (count(), sum(votes), sum(voting_power)) FROM vote_summaries WHERE ready), " +
		"(SELECT (count(), sum(unique_voters)) FROM dao_participation), (SELECT (count(), sum(value)) FROM dao_timelines)"
	want := env.MustRun(t, served.Environ, "sql", "--format", "TSV", views)

	environ := []string{"PNYX_DATA=" + t.TempDir()}
	const warning = "not published yet"
	env.MustRun(t, environ, "import", "--no-publish", data)
	// As after an import that was killed: what is missing is said, and made up for.
	if got := env.MustRun(t, environ, "sql", "--format", "TSV", views); !strings.Contains(got, warning) || strings.Contains(got, want) {
		t.Errorf("without a publication: got %q, want a warning and no results", got)
	}
	if out := env.MustRun(t, environ, "import", data); !strings.Contains(out, "published ") {
		t.Errorf("got %q, want it to say what is published", out)
	}
	if got := env.MustRun(t, environ, "sql", "--format", "TSV", views); got != want {
		t.Errorf("after the import: got %q, want %q as a running instance has it", got, want)
	}
	if got := env.MustRun(t, environ, "sql", "--format", "TSV", "SELECT count() > 0 FROM events"); got != "1\n" {
		t.Errorf("events: got %q, want some", got)
	}
}

func TestLongImportReportsAFullDiskAndContinuesLater(t *testing.T) {
	env.RequireEngine(t)
	data := env.DataSet(t, 60_000)
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("needs a file system of its own size: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }) // the folder is removed after the test
	environ := []string{"PNYX_DATA=" + dir}
	// Earlier data must survive.
	before := filepath.Join(t.TempDir(), "spaces.ndjson")
	env.WriteLines(t, before, goodSpace)
	env.MustRun(t, environ, "import", before)
	filler := filepath.Join(dir, "filler")
	fill(t, filler)
	out, status := env.Run(t, environ, "import", data)
	said := strings.ToLower(out) // whichever the engine noticed first
	if status != 1 || !strings.Contains(said, "no space left") && !strings.Contains(said, "not enough space") && !strings.Contains(said, "not_enough_space") {
		t.Errorf("got status %d, want 1 and an error about disk space: %s", status, out)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=512m"); err != nil {
		t.Fatal(err)
	}
	env.MustRun(t, environ, "import", data)
	want := undisturbed(t, data)
	options := env.EngineOptions(t)
	options.DataDir = dir
	started, err := engine.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = started.Stop(context.WithoutCancel(t.Context())) })
	conn := env.ConnectWarehouse(t, started.Instance().URL(warehouse.DefaultDatabase))
	if got := contents(t, conn); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// contents summarizes all ballots and proposals in the warehouse.
func contents(tb testing.TB, conn driver.Conn) string {
	tb.Helper()
	return env.Column(tb, conn, `
		SELECT toString((
			(SELECT (count(), sum(power), groupBitXor(cityHash64(proposal_ref, voter, vote_id, raw_choice, power, voted_at))) FROM ballots FINAL) AS casts,
			(SELECT (count(), sum(power), groupBitXor(cityHash64(proposal_ref, voter, vote_id, raw_choice, power, voted_at))) FROM latest_ballots) AS latest,
			(SELECT (count(), groupBitXor(cityHash64(proposal_ref, title, body, choices))) FROM proposals FINAL) AS proposals,
			(SELECT (count(), groupBitXor(cityHash64(host, external_id, title))) FROM topics FINAL) AS topics))`)[0]
}

// undisturbed returns the contents of the warehouse after an import without faults.
func undisturbed(t *testing.T, data string) string {
	t.Helper()
	i := startShared(t, nil, "serve").ready()
	i.Import(data)
	return contents(t, i.Warehouse())
}

// fill fills a small file system except for one megabyte.
func fill(t *testing.T, path string) {
	t.Helper()
	var stat syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &stat); err != nil {
		t.Fatal(err)
	}
	free := int64(stat.Bavail)*stat.Bsize - 1<<20
	if err := os.WriteFile(path, make([]byte, max(free, 0)), 0o600); err != nil {
		t.Fatal(err)
	}
}
