package importer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/importer"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// voteOn is a ballot on a proposal; a negative power is refused.
func voteOn(proposal, voter string, power int) string {
	return fmt.Sprintf(`{"id":"%s-%s","proposal":{"id":"%s"},"voter":"%s","created":1700000000,"choice":1,"vp":%d}`, proposal, voter, proposal, voter, power)
}

// importText imports files with some lines, in order of their names: a "cut " begins the name of one whose
// end is missing. It returns which of the proposals a, b and c lack ballots.
func importText(t *testing.T, w *warehouse.Warehouse, files map[string][]string) (lacking string) {
	t.Helper()
	folder := t.TempDir()
	for name, lines := range files {
		text := []byte(strings.Join(lines, "\n") + "\n")
		if strings.HasPrefix(name, "cut ") {
			var packed bytes.Buffer
			zipped := gzip.NewWriter(&packed)
			env.Must(zipped.Write(text))(t)
			env.MustDo(t, zipped.Flush()) // and no end
			text = packed.Bytes()
		}
		env.MustDo(t, os.WriteFile(filepath.Join(folder, name+".ndjson"), text, 0o600))
	}
	env.Must(importer.Run(t.Context(), []string{folder}, importer.Options{
		Warehouse: w, BatchSize: 100, RejectsDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
	}))(t)
	return lackingBallots(t, w)
}

func lackingBallots(t *testing.T, w *warehouse.Warehouse) (lacking string) {
	t.Helper()
	for _, id := range []string{"a", "b", "c"} {
		ref := record.ProposalRef{Provider: governance.Snapshot, ExternalID: id}.Hash()
		if env.Must(records.LackBallots(t.Context(), w, []record.RefHash{ref}))(t)[ref] {
			lacking += id
		}
	}
	return lacking
}

func TestRejectedBallotsLeaveGapsUntilTheMendedFileIsImported(t *testing.T) {
	t.Parallel()
	type files = map[string][]string
	a1, a2, b1, b2, c1 := voteOn("a", "0x1", 1), voteOn("a", "0x2", 1), voteOn("b", "0x1", 1), voteOn("b", "0x2", 1), voteOn("c", "0x1", 1)
	badA, badB := voteOn("a", "0x2", -1), voteOn("b", "0x2", -1)
	whole := files{"other name": {b2, a2, b1, a1, c1}}
	for name, c := range map[string]struct {
		imports []files
		want    []string
	}{
		"a ballot of a known proposal":     {[]files{{"1": {a1, badA, b1, c1}}, whole}, []string{"a", ""}},
		"the line is removed":              {[]files{{"1": {a1, badA, b1}}, {"2": {a1, b1}}}, []string{"a", ""}},
		"a line that is no JSON":           {[]files{{"1": {a1, b1, c1[:40]}}, whole}, []string{"ab", ""}},
		"two ids of a proposal":            {[]files{{"1": {a1, b1, strings.Replace(badA, `"id":"a"`, `"id":"a","id":"b"`, 1)}}, whole}, []string{"ab", ""}},
		"no id of a proposal":              {[]files{{"1": {a1, strings.Replace(badA, `{"id":"a"}`, `{"id":" "}`, 1)}}, whole}, []string{"a", ""}},
		"a file that is cut off":           {[]files{{"cut 1": {a1, b1}}, {"cut 2": {a1, b1, c1}}, whole}, []string{"ab", "abc", ""}},
		"a proposal among ballots":         {[]files{{"1": {a1, `{"id":"a","space":{"id":"s"}}`}}}, []string{""}},
		"a ballot among proposals":         {[]files{{"1": {`{"id":"x","space":{"id":"s"}}`, a1}}, whole}, []string{"a", ""}},
		"the same again":                   {[]files{{"1": {a1, badA, b1}}, {"1": {a1, badA, b1}}}, []string{"a", "a"}},
		"another file without rejects":     {[]files{{"1": {a1, badA, b1}}, {"2": {a2}}, {"1": {a1, a2, b1}}}, []string{"a", "a", ""}},
		"another file in the same import":  {[]files{{"1": {badA}, "2": {a1, b1}}, {"1": {badA}, "2": {a1, b1}}, whole}, []string{"a", "a", ""}},
		"the mended file in the same one":  {[]files{{"1": {a1, badA}}, {"1": {a1, badA}, "2": {a1, a2}}, whole}, []string{"a", "a", ""}},
		"one proposal mended, one not":     {[]files{{"1": {a1, badA, badB, c1}}, {"1": {a1, a2, badB, c1}}, {"1": {a1, a2, b2, c1}}}, []string{"ab", "b", ""}},
		"a file that lacks another ballot": {[]files{{"1": {a1, badA, c1}}, {"1": {a1, a2, c1, c1[:40]}}, whole}, []string{"a", "ac", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := env.Warehouse(t)
			var got []string
			for _, files := range c.imports {
				got = append(got, importText(t, w, files))
			}
			env.WantSame(t, "what lacks ballots after each import", got, c.want)
		})
	}
}

// TestNobodyReadsBallotsBeforeWhatTheyLack looks at each commit.
func TestNobodyReadsBallotsBeforeWhatTheyLack(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{
		"1": {voteOn("a", "0x1", 1), voteOn("a", "0x2", -1)}, "cut 1": {voteOn("a", "0x1", 1)},
	} {
		w := env.Warehouse(t)
		var lacking []string
		w.OnCommit(func(context.Context) { lacking = append(lacking, lackingBallots(t, w)) })
		importText(t, w, map[string][]string{name: lines})
		env.WantSame(t, name, []string{"a", "a"}, lacking)
	}
}

// TestAnImportThatStopsLeavesGaps stops an import at a rejected ballot on c, which cannot be kept.
func TestAnImportThatStopsLeavesGaps(t *testing.T) {
	t.Parallel()
	w := env.Warehouse(t)
	path := filepath.Join(t.TempDir(), "votes.ndjson")
	env.WriteLines(t, path, voteOn("a", "0x1", 1), voteOn("b", "0x1", 1), voteOn("c", "0x1", -1))
	if _, err := importer.Run(t.Context(), []string{path}, importer.Options{
		Warehouse: w, BatchSize: 100, RejectsDir: filepath.Join(path, "no folder"), Logger: slog.New(slog.DiscardHandler),
	}); err == nil {
		t.Fatal("the import did not stop")
	}
	env.Want(t, "abc", lackingBallots(t, w), "lack ballots")
	env.Want(t, "", importText(t, w, map[string][]string{"1": {voteOn("a", "0x1", 1), voteOn("b", "0x1", 1), voteOn("c", "0x1", 1)}}), "lack ballots after another import")
}

// TestAnImportThatIsKilledLeavesGaps writes a batch of an import that is never heard of again.
func TestAnImportThatIsKilledLeavesGaps(t *testing.T) {
	t.Parallel()
	w := env.Warehouse(t)
	run := records.Import{ID: uuid.New(), ObservedAt: time.Now(), Unread: records.NewUnreadBallots()}
	ballot := record.Ballot{Proposal: record.ProposalRef{Provider: governance.Snapshot, ExternalID: "a"}, Voter: "0x1"}
	env.Must(records.Append(t.Context(), w, run, []record.Record{&ballot}))(t)
	env.Want(t, "a", lackingBallots(t, w), "lack ballots")
	env.Want(t, "a", importText(t, w, map[string][]string{"1": {voteOn("a", "0x2", 1)}}), "lack ballots after another file")
	env.Want(t, "", importText(t, w, map[string][]string{"1": {voteOn("a", "0x2", 1), voteOn("a", "0x1", 1)}}), "lack ballots after the file")
}

// TestBallotsOfOneBatchHaveNoGaps counts the gaps that were open while an import read its file.
func TestBallotsOfOneBatchHaveNoGaps(t *testing.T) {
	t.Parallel()
	for batchSize, want := range map[int]uint64{100: 0, 1: 2} {
		w, path := env.Warehouse(t), filepath.Join(t.TempDir(), "votes.ndjson")
		env.WriteLines(t, path, voteOn("a", "0x1", 1), voteOn("a", "0x2", 1), voteOn("b", "0x3", 1), voteOn("b", "0x4", 1))
		env.Must(importer.Run(t.Context(), []string{path}, importer.Options{
			Warehouse: w, BatchSize: batchSize, RejectsDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
		}))(t)
		got := env.Must(warehouse.FindValue[uint64](t.Context(), w, "count gaps", "SELECT count() FROM ballot_gaps FINAL"))(t)
		env.Want(t, want, got, fmt.Sprintf("gaps of an import in batches of %d", batchSize))
		env.Want(t, "", lackingBallots(t, w), "lack ballots")
	}
}

// TestASourceLacksRecordsUntilItsFilesAreReadWhole imports proposals of two spaces.
func TestASourceLacksRecordsUntilItsFilesAreReadWhole(t *testing.T) {
	t.Parallel()
	w := env.Warehouse(t)
	const a, b, bad = `{"id":"a","space":{"id":"s"}}`, `{"id":"b","space":{"id":"r"}}`, `{"id":"","space":{"id":"s"}}`
	var got []string
	for _, files := range []map[string][]string{
		{"1": {b, bad}}, {"1": {a}, "2": {b}}, {"1": {a, bad}, "2": {a}}, {"1": {a, b}}, {"1": {bad}},
	} {
		importText(t, w, files)
		catalog := env.Must(records.CatalogOwners(t.Context(), w))(t)
		s, r := catalog.Sources[record.SourceRef{Provider: governance.Snapshot, ID: "s"}], catalog.Sources[record.SourceRef{Provider: governance.Snapshot, ID: "r"}]
		got = append(got, fmt.Sprintf("s:%t/%t r:%t/%t", s.ProposalsSyncedAt != nil, s.Lacks, r.ProposalsSyncedAt != nil, r.Lacks))
	}
	env.WantSame(t, "whether s and r were read whole once, and lack records", []string{
		"s:false/false r:false/false", "s:true/false r:true/false", "s:true/true r:true/false", "s:true/false r:true/false", "s:true/true r:true/false",
	}, got)
}

func TestARejectedActionIsUnreadUntilItsMendedLineIsImported(t *testing.T) {
	t.Parallel()
	w := env.Warehouse(t)
	line := func(index, target string) string {
		return fmt.Sprintf(`{"record":"action","version":1,"proposal":{"provider":"snapshot","externalId":"a"},"index":%s,"chain":"eip155:1","target":"%s"}`, index, target)
	}
	ref := record.ProposalRef{Provider: governance.Snapshot, ExternalID: "a"}.Hash()
	const good, bad = "0x00000000000000000000000000000000000000b2", "0xb2"
	for _, c := range []struct{ lines, want []string }{
		{[]string{line("0", good), line("1", bad), line("2", good), line("1.5", good), line("2", bad)}, []string{good, "", good}},
		{[]string{line("1", good)}, []string{good, good, good}},
		{[]string{line("1", bad)}, []string{good, good, good}},
	} {
		importText(t, w, map[string][]string{"1": c.lines})
		var got []string
		for _, a := range env.Must(records.AllActions(t.Context(), w, []record.RefHash{ref}))(t)[ref] {
			got = append(got, a.Target)
			if undecoded := records.DecodeAction(&a).Undecoded; (a.Target == "") != (undecoded != "") {
				t.Errorf("%+v: got undecoded %q", a, undecoded)
			}
		}
		env.WantSame(t, "targets of the actions", c.want, got)
	}
}
