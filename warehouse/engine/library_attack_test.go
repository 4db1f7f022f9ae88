package engine_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pnyx/test/env"
	"pnyx/warehouse/engine"
)

// TestAttackReplacedLibraryIsNotLoaded changes a byte at the end of the cached library, which
// keeps its size and would run as before.
func TestAttackReplacedLibraryIsNotLoaded(t *testing.T) {
	t.Parallel()
	original := library(t)
	if os.Getenv("PNYX_ENGINE_LIB") != "" {
		t.Skip("this needs the library that Fetch has downloaded")
	}
	cache := t.TempDir()
	replaced := filepath.Join(cache, filepath.Base(original))
	copyFile(t, filepath.Join(filepath.Dir(original), "receipt.json"), filepath.Join(cache, "receipt.json"))
	copyFile(t, original, replaced)
	file := env.Must(os.OpenFile(replaced, os.O_RDWR, 0))(t)
	last := env.Must(file.Seek(-1, io.SeekEnd))(t)
	env.Must(file.WriteAt([]byte{1}, last))(t)
	env.MustDo(t, file.Close())
	options := env.EngineOptions(t)
	options.Program = env.Must(engine.Locate(engine.LocateOptions{CacheDir: cache}))(t)
	started, err := engine.Start(t.Context(), options)
	if err == nil {
		stop(t, started)
	}
	if err == nil || !strings.Contains(err.Error(), engine.ErrIntegrity.Error()) || !strings.Contains(err.Error(), "pnyx engine") {
		t.Errorf("start with a replaced library: got %v, want a hash mismatch and what to do", err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in := env.Must(os.Open(from))(t)
	defer in.Close()
	out := env.Must(os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o600))(t)
	env.Must(io.Copy(out, in))(t)
	env.MustDo(t, out.Close())
}

// TestAttackWritableLibraryIsNotLoaded lets others write the library, or its folder.
func TestAttackWritableLibraryIsNotLoaded(t *testing.T) {
	t.Parallel()
	for name, share := range map[string]func(library string) error{
		"the file":   func(library string) error { return os.Chmod(library, 0o622) },
		"its folder": func(library string) error { return os.Chmod(filepath.Dir(library), 0o777) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "cache")
			env.MustDo(t, os.Mkdir(dir, 0o700))
			path := filepath.Join(dir, "libchdb.so")
			env.WriteFile(t, path, "a library")
			env.MustDo(t, share(path))
			options := env.EngineOptions(t)
			options.Program = engine.Program{Library: path, Digest: strings.Repeat("0", 64)}
			started, err := engine.Start(t.Context(), options)
			if err == nil {
				stop(t, started)
			}
			env.WantPart(t, name+" has mode", fmt.Sprint(err), "an error that says who may write")
		})
	}
}

// TestAttackReplacedLibraryIsDownloadedAgain replaces the cached library by a text of its
// length.
func TestAttackReplacedLibraryIsDownloadedAgain(t *testing.T) {
	r := newRegistry(t, map[string]string{"package/libchdb.so": "the library"})
	path := env.Must(r.fetch(t.Context(), r.integrity))(t)
	env.WriteFile(t, path, "bad library")
	env.Must(r.fetch(t.Context(), r.integrity))(t)
	if content, err := os.ReadFile(path); err != nil || string(content) != "the library" {
		t.Errorf("library: got %q, %v, want its content", content, err)
	}
}

// TestAttackTarballWithAnotherLibraryIsRefused has a registry state the hash of a tarball
// whose library is not the pinned one.
func TestAttackTarballWithAnotherLibraryIsRefused(t *testing.T) {
	r := newRegistry(t, map[string]string{"package/libchdb.so": "bad library"})
	if _, err := engine.FetchPinnedLibrary(t.Context(), strings.Repeat("0", 64), engine.FetchOptions{CacheDir: r.cache}); !errors.Is(err, engine.ErrIntegrity) {
		t.Errorf("got %v, want ErrIntegrity", err)
	}
	wantFiles(t, r.cache, "fetch.lock")
}

// FuzzAttackUnpack unpacks archives: there is the library in the folder, or nothing.
func FuzzAttackUnpack(f *testing.F) {
	for _, header := range []tar.Header{
		{Name: "package/libchdb.so", Typeflag: tar.TypeReg, Size: 3},
		{Name: "package/../../libchdb.so", Typeflag: tar.TypeReg, Size: 3},
		{Name: "/package/libchdb.so", Typeflag: tar.TypeReg, Size: 3},
		{Name: "package/libchdb.so", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		{Name: "package/libchdb.so", Typeflag: tar.TypeLink, Linkname: "../../outside"},
		{Name: "package/libchdb.so", Typeflag: tar.TypeFifo},
	} {
		var out bytes.Buffer
		entries := tar.NewWriter(&out)
		env.MustDo(f, entries.WriteHeader(&header))
		env.Must(entries.Write([]byte("abc")[:header.Size]))(f)
		env.MustDo(f, entries.Close())
		f.Add(out.Bytes())
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		var zipped bytes.Buffer
		writer := gzip.NewWriter(&zipped)
		env.Must(writer.Write(archive))(t)
		env.MustDo(t, writer.Close())
		outside := t.TempDir()
		dir := filepath.Join(outside, "dir")
		env.MustDo(t, os.Mkdir(dir, 0o700))
		path, err := engine.Unpack(&zipped, dir)
		wantFiles(t, outside, "dir")
		if err != nil {
			return
		}
		wantFiles(t, dir, filepath.Base(path))
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || filepath.Dir(path) != dir {
			t.Errorf("got %s %v (%v), want a regular file in %s", path, info, err, dir)
		}
	})
}
