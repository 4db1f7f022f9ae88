package demo

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pnyx/test/check"
)

func TestGenerationStopsWhenStoringFails(t *testing.T) {
	t.Parallel()
	notAFolder := filepath.Join(t.TempDir(), "file")
	check.MustDo(t, os.WriteFile(notAFolder, nil, 0o600))
	a := &archive{dir: notAFolder}
	a.create("lines.ndjson.gz").write(struct{}{})
	g := generator{archive: a}
	check.WantError(t, syscall.ENOTDIR, g.report(t.Context()))
	check.WantError(t, syscall.ENOTDIR, a.close())
}

func TestFileWithoutLinesIsNotCreated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := &archive{dir: dir}
	a.create("empty.ndjson.gz").close()
	full := a.create("full.ndjson.gz")
	full.write(struct{}{})
	full.close()
	check.MustDo(t, a.close())
	names := check.Must(filepath.Glob(filepath.Join(dir, "*")))(t)
	if len(names) != 1 || filepath.Base(names[0]) != "full.ndjson.gz" {
		t.Fatalf("got files %v, want full.ndjson.gz", names)
	}
	check.Want(t, 3, decompressedSize(t, names[0]), "bytes decompressed")
}

func decompressedSize(t *testing.T, path string) int64 {
	t.Helper()
	packed := check.Must(os.Open(path))(t)
	defer packed.Close()
	reader := check.Must(gzip.NewReader(packed))(t)
	return check.Must(io.Copy(io.Discard, reader))(t)
}
