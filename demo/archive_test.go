package demo

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestGenerationStopsWhenStoringFails(t *testing.T) {
	t.Parallel()
	notAFolder := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(notAFolder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := newArchive(notAFolder)
	f := a.create("lines.ndjson.gz")
	// The last chunk waits until the archive has tried to store the first one.
	for range chunksPerFile {
		f.text = append(f.text, "{}\n"...)
		f.submit()
	}
	g := generator{archive: a}
	if err := g.report(t.Context()); !errors.Is(err, errStopped) {
		t.Errorf("got %v, want %v", err, errStopped)
	}
	if err := a.close(); err == nil {
		t.Error("got no error from an archive that cannot be stored, want one")
	}
}

func TestFileWithoutLinesIsNotCreated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := newArchive(dir)
	a.create("empty.ndjson.gz").close()
	full := a.create("full.ndjson.gz")
	full.text = append(full.text, "{}"...)
	full.endLine()
	full.close()
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != 1 || filepath.Base(names[0]) != "full.ndjson.gz" {
		t.Fatalf("got files %v, want full.ndjson.gz", names)
	}
	if got := decompressedSize(t, names[0]); got != 3 {
		t.Errorf("got %d bytes decompressed, want 3", got)
	}
}

func TestFilesOfSeveralChunksAreComplete(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := newArchive(dir)
	plain, packed := a.create("plain.ndjson"), a.create("packed.ndjson.gz")
	const lines = 3*chunkSize/16 + 1
	for range lines {
		for _, f := range []*file{plain, packed} {
			f.text = append(f.text, `{"fifteen":"ok"`...)
			f.endLine()
		}
	}
	plain.close()
	packed.close()
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "plain.ndjson"))
	if err != nil || info.Size() != 16*lines {
		t.Errorf("got %v (%v), want %d bytes", info, err, 16*lines)
	}
	if got := decompressedSize(t, filepath.Join(dir, "packed.ndjson.gz")); got != 16*lines {
		t.Errorf("got %d bytes decompressed, want %d", got, 16*lines)
	}
}

func decompressedSize(t *testing.T, path string) int64 {
	t.Helper()
	packed, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	reader, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	size, err := io.Copy(io.Discard, reader)
	if err != nil {
		t.Fatal(err)
	}
	return size
}
