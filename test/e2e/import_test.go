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
	env.MustDo(t, os.WriteFile(filepath.Join(in, "votes", "cut.ndjson.gz"), truncated[:len(truncated)/2], 0o600))

	url := env.DatabaseURL(t)
	environ := []string{"PNYX_DATA=" + filepath.Join(dir, "data"), "CLICKHOUSE_URL=" + url}
	env.MustRun(t, environ, "migrate")
	out, status := env.Run(t, environ, "import", filepath.Join(dir, "in"))
	env.Want(t, 3, status, "status", "3", out)
	for _, want := range []string{"recipes.ndjson", "flour", "cut.ndjson.gz", "rejected records are kept in", "1 ballots wait"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
	checkRejects(t, filepath.Join(dir, "data", "rejects"))

	held := env.Column(t, env.ConnectWarehouse(t, url), "SELECT toString((arraySort(groupArray(vote_id)), sum(power))) FROM ballots FINAL")[0]
	env.Want(t, "(['v1','v4','v5','v6'],4.000000000000000004)", held, "exactly the valid ballots")
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
	env.Want(t, 0, len(want), "not among the rejects", want)
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var zipped bytes.Buffer
	// No compression: half of the bytes are half of the lines.
	writer, err := gzip.NewWriterLevel(&zipped, gzip.NoCompression)
	if err == nil {
		_, err = writer.Write([]byte(text))
	}
	env.MustDo(t, errors.Join(err, writer.Close()))
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
	env.WantPart(t, "published ", env.MustRun(t, environ, "import", data), "it to say what is published")
	env.Want(t, want, env.MustRun(t, environ, "sql", "--format", "TSV", views), "after the import", "as a running instance has it")
	env.Want(t, "1\n", env.MustRun(t, environ, "sql", "--format", "TSV", "SELECT count() > 0 FROM events"), "events", "some")
}

func TestLongImportReportsAFullDiskAndContinuesLater(t *testing.T) {
	env.RequireEngine(t)
	data := env.GeneratedDataSet(t, "--ballots", "40000")
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
	env.MustDo(t, os.Remove(filler))
	env.MustDo(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=512m"))
	env.MustRun(t, environ, "import", data)
	want := undisturbed(t, data)
	options := env.EngineOptions(t)
	options.DataDir = dir
	started := env.Must(engine.Start(t.Context(), options))(t)
	t.Cleanup(func() { _ = started.Stop(context.WithoutCancel(t.Context())) })
	env.Want(t, want, contents(t, env.ConnectWarehouse(t, started.Instance().URL(warehouse.DefaultDatabase))))
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
	url := env.DatabaseURL(t)
	env.MustRun(t, []string{"PNYX_DATA=" + t.TempDir(), "CLICKHOUSE_URL=" + url}, "import", "--no-publish", data)
	return contents(t, env.ConnectWarehouse(t, url))
}

// fill fills a small file system except for one megabyte.
func fill(t *testing.T, path string) {
	t.Helper()
	var stat syscall.Statfs_t
	env.MustDo(t, syscall.Statfs(filepath.Dir(path), &stat))
	free := int64(stat.Bavail)*stat.Bsize - 1<<20
	env.MustDo(t, os.WriteFile(path, make([]byte, max(free, 0)), 0o600))
}
