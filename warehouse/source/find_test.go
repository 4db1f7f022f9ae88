package source_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/test/check"
	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

// write writes a file below folder and returns its path.
func write(tb testing.TB, folder, name, content string) string {
	tb.Helper()
	path := filepath.Join(folder, filepath.FromSlash(name))
	check.MustDo(tb, os.MkdirAll(filepath.Dir(path), 0o750))
	check.MustDo(tb, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// pack returns content as gzip.
func pack(tb testing.TB, content string) string {
	tb.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	check.Must(zip.Write([]byte(content)))(tb)
	check.MustDo(tb, zip.Close())
	return packed.String()
}

func TestFindRecognizesEachFormatByItsFirstRecord(t *testing.T) {
	t.Parallel()

	for _, format := range source.Formats() {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			path := write(t, t.TempDir(), forum+"/anything", source.SampleLine(format)+"\n")
			files, problems := source.Find([]string{path}, 0)
			if len(problems) > 0 || len(files) != 1 {
				t.Fatalf("got files %+v and problems %v, want one file", files, problems)
			}
			if files[0].Format != format || files[0].Kind != format.Kind() {
				t.Errorf("got %q of kind %q, want %q of kind %q", files[0].Format, files[0].Kind, format, format.Kind())
			}
			check.Want(t, 1, len(check.Must(readAll(t, files[0], 0))(t)), "records")
		})
	}
}

func TestFindListsFilesInImportOrder(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	line := func(name string, format source.Format) { write(t, folder, name, source.SampleLine(format)) }
	line("a/recorded.ndjson", "canonical record")
	line("b/2.NDJSON", "Snapshot vote")
	line("b/1.jsonl", "Tally vote")
	line("c/daos.ndjson", "DAO")
	line("d/"+forum+"/topics.ndjson", "Discourse topic")
	line("d/"+forum+"/categories.ndjson", "Discourse category")
	line("e/spaces.ndjson", "Snapshot space")
	write(t, folder, "e/proposals.ndjson.gz", pack(t, source.SampleLine("Snapshot proposal")))
	write(t, folder, "a/empty.ndjson", "")
	write(t, folder, "a/notes.txt", "another format")
	csv := write(t, folder, "a/votes.csv", "another format")
	write(t, folder, "b/votes.parquet", "another format")

	files, problems := source.Find([]string{folder}, 0)
	want := "folders are searched for *.ndjson and *.jsonl alone: 2 other files, such as " + csv
	if len(problems) != 1 || !errors.Is(problems[0], source.ErrIgnored) || problems[0].Error() != want {
		t.Errorf("got problems %v, want %s", problems, want)
	}
	var got []string
	for _, file := range files {
		name := check.Must(filepath.Rel(folder, file.Path))(t)
		got = append(got, filepath.ToSlash(name))
	}
	wanted := []string{
		"c/daos.ndjson", "e/spaces.ndjson", "d/" + forum + "/categories.ndjson", "e/proposals.ndjson.gz",
		"d/" + forum + "/topics.ndjson", "b/1.jsonl", "b/2.NDJSON", "a/recorded.ndjson", "a/empty.ndjson",
	}
	check.WantSame(t, "files", wanted, got)
}

func TestFindListsAFileOnceUnderSeveralPaths(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	path := write(t, folder, "votes.ndjson", source.SampleLine("Snapshot vote"))
	link := filepath.Join(folder, "again.ndjson")
	if err := os.Symlink(path, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	files, problems := source.Find([]string{path, folder, folder + "/./votes.ndjson", link}, 0)
	want := []source.File{{
		Path: path, Kind: record.KindBallot, Format: "Snapshot vote", Size: int64(len(source.SampleLine("Snapshot vote"))),
	}}
	if diff := cmp.Diff(want, files); diff != "" || len(problems) > 0 {
		t.Errorf("problems %v, files (-want +got):\n%s", problems, diff)
	}
}

func TestFindFollowsLinksToFolders(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	write(t, folder, "releases/2/votes.ndjson", source.SampleLine("Snapshot vote"))
	write(t, folder, "releases/2/more/daos.ndjson", source.SampleLine("DAO"))
	for link, to := range map[string]string{"current": "releases/2", "in/votes": "../releases/2", "releases/2/loop": "../.."} {
		check.MustDo(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, link)), 0o750))
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	for _, path := range []string{"current", "in", "."} {
		files, problems := source.Find([]string{filepath.Join(folder, path)}, 0)
		check.Want(t, 0, len(problems), path, problems)
		check.Want(t, 2, len(files), path, files)
	}
}

func TestFindReadsLinesAsLongAsThoseThatAreImported(t *testing.T) {
	t.Parallel()

	long := strings.Replace(source.SampleLine("Snapshot vote"), "{", "{"+strings.Repeat(" ", source.DefaultMaxLineBytes), 1)
	path := write(t, t.TempDir(), "votes", long)
	_, problems := source.Find([]string{path}, 0)
	check.Want(t, 1, len(problems), "problems by default", problems)
	files, problems := source.Find([]string{path}, len(long))
	check.Want(t, 0, len(problems), "problems", problems)
	check.Want(t, 1, len(check.Must(readAll(t, files[0], len(long)))(t)), "records")
}

func TestFindSkipsInvalidLinesBeforeTheFirstRecord(t *testing.T) {
	t.Parallel()

	path := write(t, t.TempDir(), "votes", "\ufeff\n \r\n"+strings.Repeat("\n", 200)+"not JSON\n[1]\n{\"foreign\":1}\n"+source.SampleLine("Snapshot vote"))
	files, problems := source.Find([]string{path}, 0)
	if len(problems) > 0 || len(files) != 1 || files[0].Format != "Snapshot vote" {
		t.Errorf("got %+v and %v, want a file of Snapshot votes", files, problems)
	}
}

func TestFindReportsProblemsAndListsTheOtherFiles(t *testing.T) {
	t.Parallel()

	good := source.SampleLine("Snapshot vote")
	tests := []struct {
		name, file, content, want string
	}{
		{"wrong kind", "x.ndjson", `{"block":1,"miner":"0x1"}`, "x.ndjson: unknown file format: first record has fields block, miner; want one of DAO (daoId, name, sources); Snapshot space ("},
		{"no fields", "x.ndjson", `{}`, "first record has fields (none); want"},
		{"many fields", "x.ndjson", `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1}`, "fields a, b, c, d, e, f, g, h, i, j, k, l, …; want"},
		{"text", "x.ndjson", "id,voter\n1,0x1\n", "first record is not JSON: invalid character 'i' looking for beginning of value; want"},
		{"pretty-printed", "x.ndjson", "{\n  \"id\": 1\n}\n", "first record is not JSON: unexpected end of JSON input; want"},
		{"binary", "x.ndjson", "\x00\x01\xff", "first record is not UTF-8 at byte 3; want"},
		{"gzip cut in its header", "x.ndjson.gz", pack(t, good)[:5], "x.ndjson.gz: file is truncated: unexpected EOF"},
		{"gzip cut before its first record", "x.ndjson.gz", pack(t, good)[:20], "x.ndjson.gz: line 1: file is truncated: unexpected EOF"},
		{"another compression", "x.ndjson.zst", "x", "x.ndjson.zst: want a file compressed by gzip"},
		{"forum without a host", "forum/topics.ndjson", source.SampleLine("Discourse topic"), `topics.ndjson: the folder of a Discourse file must be named after the forum's host (forum.example.org), and "forum" is not a host name`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			write(t, folder, test.file, test.content)
			write(t, folder, "good.ndjson", good)
			files, problems := source.Find([]string{folder}, 0)
			if len(files) != 1 || filepath.Base(files[0].Path) != "good.ndjson" {
				t.Errorf("files: got %+v, want the good one", files)
			}
			if len(problems) != 1 || !strings.Contains(problems[0].Error(), test.want) {
				t.Errorf("problems: got %v, want one with %q", problems, test.want)
			}
		})
	}
}

func TestFindReportsUnreadablePaths(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	missing := filepath.Join(folder, "missing")
	files, problems := source.Find([]string{missing, folder, os.DevNull}, 0)
	if len(files) != 0 || len(problems) != 3 {
		t.Fatalf("got %+v and %v, want three problems and no file", files, problems)
	}
	for i, want := range []string{"missing", "contains no file named *.ndjson or *.jsonl", "not a regular file"} {
		if !strings.Contains(problems[i].Error(), want) {
			t.Errorf("problem %d: got %v, want one with %q", i, problems[i], want)
		}
	}
}

func TestFindReadsTheHostFromTheFolder(t *testing.T) {
	t.Parallel()

	for folder, want := range map[string]string{
		"Forum.Harbor.Example": "forum.harbor.example", "a-b.xn--p1ai": "a-b.xn--p1ai",
		"localhost": "", "a..b": "", "-a.b": "", "a_b.c": "", "a b.c": "", strings.Repeat("a", 64) + ".b": "",
	} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			path := write(t, t.TempDir(), folder+"/topics.ndjson", source.SampleLine("Discourse topic"))
			files, problems := source.Find([]string{path}, 0)
			switch {
			case want == "" && len(problems) != 1:
				t.Errorf("got %+v, want a problem", files)
			case want != "" && (len(files) != 1 || files[0].Host != want):
				t.Errorf("got %+v and %v, want host %q", files, problems, want)
			}
		})
	}
}
