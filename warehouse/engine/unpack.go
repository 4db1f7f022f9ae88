package engine

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// maxLibraryBytes is the maximum size of the library, which has 566 MB, and of everything
// that is unpacked to find it.
const maxLibraryBytes = 2 << 30

const megabyte = 1_000_000

type unpackedFile struct {
	path   string
	size   int64
	digest string // SHA-256 in hexadecimal
}

// unpack extracts the library, and no other file, from an npm tarball into dir. It syncs
// the library to disk.
func unpack(ctx context.Context, tarball, dir string, report func(string)) (unpackedFile, error) {
	file, err := os.Open(tarball) //nolint:gosec // our own work folder
	if err != nil {
		return unpackedFile{}, fmt.Errorf("open tarball: %w", err)
	}
	defer file.Close()
	return unpackFrom(bufio.NewReaderSize(contextReader{ctx, file}, 1<<20), dir, report)
}

func unpackFrom(tarball io.Reader, dir string, report func(string)) (unpackedFile, error) {
	zipped, err := gzip.NewReader(tarball)
	if err != nil {
		return unpackedFile{}, fmt.Errorf("read tarball: %w", err)
	}
	entries := tar.NewReader(io.LimitReader(zipped, maxLibraryBytes))
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return unpackedFile{}, errors.New("tarball contains no library")
		}
		if err != nil {
			return unpackedFile{}, fmt.Errorf("read tarball: %w", err)
		}
		if isLibrary(header) {
			target := filepath.Join(dir, path.Base(header.Name))
			digest, err := copyFile(target, entries, header.Size, report)
			return unpackedFile{target, header.Size, digest}, err
		}
	}
}

// isLibrary reports whether a file is the library. Its name depends on the platform.
func isLibrary(header *tar.Header) bool {
	names := []string{"package/libchdb.so", "package/libchdb.dylib"}
	return header.Typeflag == tar.TypeReg && header.Size <= maxLibraryBytes &&
		slices.Contains(names, path.Clean(header.Name))
}

// copyFile copies size bytes into a new file, and returns their SHA-256.
func copyFile(target string, from io.Reader, size int64, report func(string)) (digest string, err error) {
	file, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // our own work folder
	if err != nil {
		return "", err
	}
	show := func(time.Duration) {
		if info, err := file.Stat(); err == nil {
			report(fmt.Sprintf("unpacking: %d of %d MB", info.Size()/megabyte, size/megabyte))
		}
	}
	show(0)
	stop := reportEvery(progressInterval, show)
	sum := sha256.New()
	_, err = io.CopyN(io.MultiWriter(file, sum), from, size)
	stop()
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, file.Sync(), file.Close())
}
