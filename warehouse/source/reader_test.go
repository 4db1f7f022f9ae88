package source_test

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pnyx/test/check"
	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

// ballots returns lines of ballots with the ids v-0, v-1, ….
func ballots(n int) string {
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"id":"v-%d","proposal":{"id":"0xAB"},"voter":"0x%040x","created":%d,"choice":1,"vp":%d.5}`+"\n", i, i, i, i)
	}
	return lines.String()
}

// votesFile writes a file of Snapshot votes.
func votesFile(tb testing.TB, content string) source.File {
	tb.Helper()
	return source.File{Path: write(tb, tb.TempDir(), "votes", content), Kind: record.KindBallot, Format: "Snapshot vote"}
}

// checkVotes checks that the file's ballots are v-0, v-1, … up to n.
func checkVotes(t *testing.T, records []record.Record, n int) {
	t.Helper()
	check.Want(t, n, len(records), "records")
	for i, read := range records {
		ballot, ok := read.(*record.Ballot)
		if want := fmt.Sprintf("v-%d", i); !ok || ballot.VoteID != want {
			t.Fatalf("record %d: got %+v, want ballot %s", i, read, want)
		}
	}
}

func TestReaderReadsPlainAndCompressedFiles(t *testing.T) {
	t.Parallel()

	plain := ballots(1000)
	halves := pack(t, plain[:5000]) + pack(t, plain[5000:])
	for name, content := range map[string]string{
		"plain": plain, "gzip": pack(t, plain), "gzip of two parts": halves,
		"no line feed at the end": strings.TrimSuffix(plain, "\n"),
		"byte order mark":         "\ufeff" + plain,
		"packed byte order mark":  pack(t, "\ufeff"+plain),
		"lines ending in CRLF":    strings.ReplaceAll(plain, "\n", "\r\n"),
		"blank lines":             "\n \n" + strings.ReplaceAll(plain, "\n", "\n\t\r\n\n"),
		"spaced JSON":             strings.NewReplacer(":", " : ", ",", "\t, ", "{", " { ", "}", " } ").Replace(plain),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records, err := readAll(t, votesFile(t, content), 0)
			if err != nil {
				t.Errorf("got %v, want no error", err)
			}
			checkVotes(t, records, 1000)
		})
	}
}

func TestReaderReadsNothingFromEmptyFiles(t *testing.T) {
	t.Parallel()

	for name, content := range map[string]string{
		"no byte": "", "blank": "\n \r\n", "compressed": pack(t, ""), "mark only": "\ufeff",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, t.TempDir(), "votes.ndjson", content)
			files, problems := source.Find([]string{path}, 0)
			if len(files) != 1 || len(problems) != 0 || files[0].Format != "" || files[0].Kind != "" {
				t.Fatalf("got %+v and %v, want one file without a format", files, problems)
			}
			check.Want(t, 0, len(check.Must(readAll(t, files[0], 0))(t)), "records")
		})
	}
}

func TestReaderContinuesAfterARejectedLine(t *testing.T) {
	t.Parallel()

	lines := strings.SplitAfter(ballots(3), "\n")
	bad := strings.Replace(lines[1], `"vp":1.5`, `"vp":-1`, 1)
	file := votesFile(t, lines[0]+"\n"+bad+"nonsense\n"+lines[1]+lines[2])
	records, err := readAll(t, file, 0)
	checkVotes(t, records, 3)

	want := fmt.Sprintf(`%[1]s: line 3: vp is refused: negative: "-1"; want a number from 0
%[1]s: line 4: not JSON: invalid character 'o' in literal null (expecting 'u')`, file.Path)
	if err == nil || err.Error() != want {
		t.Errorf("rejections: got\n%v\nwant\n%s", err, want)
	}
	var first *source.RejectedError
	if !errors.As(err, &first) || first.Line != 3 || first.File != file.Path || first.Text != strings.TrimSpace(bad) {
		t.Errorf("first rejection: got %+v, want the line itself", first)
	}
}

func TestReaderReturnsTheRecordsOfATruncatedGzipFile(t *testing.T) {
	t.Parallel()

	packed := pack(t, ballots(20_000))
	file := votesFile(t, packed[:len(packed)/2])
	records, err := readAll(t, file, 0)
	if len(records) < 5_000 || len(records) > 15_000 {
		t.Errorf("got %d records, want about half of 20000", len(records))
	}
	checkVotes(t, records, len(records))
	want := fmt.Sprintf("%s: line %d: file is truncated: unexpected EOF", file.Path, len(records)+1)
	if err == nil || err.Error() != want || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got error %v, want %s", err, want)
	}
}

func TestReaderRepeatsTheErrorThatEndedTheFile(t *testing.T) {
	t.Parallel()

	packed := []byte(pack(t, ballots(10)))
	packed[len(packed)-6] ^= 0xff // the checksum
	reader := check.Must(source.Open(votesFile(t, string(packed)), 0))(t)
	defer func() { _ = reader.Close() }()
	for range 10 {
		if _, err := reader.Next(); err != nil {
			t.Fatalf("got %v, want the records before the checksum", err)
		}
	}
	_, first := reader.Next()
	_, second := reader.Next()
	if first == nil || !strings.Contains(first.Error(), "line 11: gzip: invalid checksum") || !errors.Is(second, first) {
		t.Errorf("got %v, then %v, want a wrong checksum twice", first, second)
	}
}

func TestReaderRejectsALongLineInBoundedMemory(t *testing.T) {
	// Not parallel: it measures the allocations of the process.
	const long, limit = 32 << 20, 256 << 10
	file := source.File{Path: filepath.Join(t.TempDir(), "votes.gz"), Format: "Snapshot vote"}
	writeLongLine(t, file.Path, long)

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	records, err := readAll(t, file, limit)
	runtime.ReadMemStats(&after)

	checkVotes(t, records, 2)
	var rejected *source.RejectedError
	if !errors.As(err, &rejected) {
		t.Fatalf("got %v, want a rejection", err)
	}
	if want := "is longer than 262144 bytes"; rejected.Line != 2 || rejected.Reason != want || rejected.Text != strings.Repeat("x", 4096) {
		t.Errorf("got line %d, reason %q and %d bytes of text, want line 2, %q and 4096", rejected.Line, rejected.Reason, len(rejected.Text), want)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 4<<20 {
		t.Errorf("got %d bytes allocated for a line of %d, want less than 4 MiB", allocated, long)
	}
}

// writeLongLine writes two ballots, and between them a line of n bytes.
func writeLongLine(tb testing.TB, path string, n int) {
	tb.Helper()
	first, second, _ := strings.Cut(ballots(2), "\n")
	writePacked(tb, path, func(to io.Writer) {
		_, _ = io.WriteString(to, first+"\n")
		for range n / 4096 {
			_, _ = io.WriteString(to, strings.Repeat("x", 4096))
		}
		_, _ = io.WriteString(to, "\n"+second)
	})
}

// writePacked writes a gzip file as a stream.
func writePacked(tb testing.TB, path string, content func(io.Writer)) {
	tb.Helper()
	file := check.Must(os.Create(path))(tb)
	zip := check.Must(gzip.NewWriterLevel(file, gzip.BestSpeed))(tb)
	buffered := bufio.NewWriter(zip)
	content(buffered)
	check.MustDo(tb, errors.Join(buffered.Flush(), zip.Close(), file.Close()))
}

func TestReaderAcceptsLinesUpToTheLimit(t *testing.T) {
	t.Parallel()

	line := source.SampleLine("Snapshot vote")
	// Lines within the reader's buffer of 64 KiB and longer ones take different paths.
	for _, padding := range []int{0, 1, 1<<16 - len(line) - 1, 1<<16 - len(line), 1 << 17} {
		padded := line + strings.Repeat(" ", padding)
		for _, end := range []string{"", "\n"} {
			file := votesFile(t, padded+end)
			if records, err := readAll(t, file, len(padded)); err != nil || len(records) != 1 {
				t.Errorf("line of %d with a limit of as many: got %d records and %v, want one", len(padded), len(records), err)
			}
			if records, err := readAll(t, file, len(padded)-1); err == nil || len(records) != 0 {
				t.Errorf("line of %d with a limit of one less: got %d records, want a rejection", len(padded), len(records))
			}
		}
	}
}

func TestReaderMemoryDoesNotGrowWithTheFile(t *testing.T) {
	// Not parallel: it measures the heap of the process.
	file := source.File{Path: filepath.Join(t.TempDir(), "votes.gz"), Format: "Snapshot vote"}
	writePacked(t, file.Path, func(to io.Writer) {
		for range 60 {
			_, _ = io.WriteString(to, ballots(1_000))
		}
	})
	reader := check.Must(source.Open(file, 0))(t)
	defer func() { _ = reader.Close() }()

	var early, late uint64
	for i := range 60_000 {
		check.Must(reader.Next())(t)
		switch i {
		case 1_000:
			early = heap()
		case 59_000:
			late = heap()
		}
	}
	if late > early+1<<20 {
		t.Errorf("heap: got %d bytes near the end and %d near the start, want as many", late, early)
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestBytesReadCountsBytesOnDisk(t *testing.T) {
	t.Parallel()

	packed := pack(t, ballots(10_000))
	reader := check.Must(source.Open(votesFile(t, packed), 0))(t)
	defer func() { _ = reader.Close() }()

	var last int64
	var err error
	for err == nil {
		var now int64
		var concurrent sync.WaitGroup
		concurrent.Go(func() { now = reader.BytesRead() })
		_, err = reader.Next()
		concurrent.Wait()
		if now < last {
			t.Fatalf("bytes read: got %d after %d, want no fewer", now, last)
		}
		last = now
	}
	if got := reader.BytesRead(); got != int64(len(packed)) || !errors.Is(err, io.EOF) {
		t.Errorf("got %d bytes and %v at the end, want %d and EOF", got, err, len(packed))
	}
}

func TestRejectedTextIsTruncatedBetweenCharacters(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ line, want string }{
		"short":      {"{é", "{é"},
		"long":       {"{" + strings.Repeat("é", 5000), "{" + strings.Repeat("é", 2047)},
		"not UTF-8":  {"{\xff\xfe}", "{\uFFFD}"},
		"to the end": {"{" + strings.Repeat("x", 4095), "{" + strings.Repeat("x", 4095)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readAll(t, votesFile(t, test.line), 0)
			var rejected *source.RejectedError
			if !errors.As(err, &rejected) || rejected.Text != test.want {
				t.Errorf("got %v, want the text %.20q… of %d bytes", err, test.want, len(test.want))
			}
		})
	}
}

func TestOpenRejectsFilesThatFindDoesNotList(t *testing.T) {
	t.Parallel()

	topics := write(t, t.TempDir(), "topics", source.SampleLine("Discourse topic"))
	if _, err := source.Open(source.File{Path: topics, Format: "Discourse topic"}, 0); err == nil {
		t.Error("a forum without a host: got no error")
	}
	if _, err := source.Open(source.File{Path: topics + "-missing"}, 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: got %v, want %v", err, os.ErrNotExist)
	}
	_, err := readAll(t, source.File{Path: topics}, 0)
	check.WantPart(t, "was added after the file was listed", fmt.Sprint(err), "a file that was empty")
}
