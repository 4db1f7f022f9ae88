package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
)

// archive writes files of JSON lines into a folder.
type archive struct {
	dir   string
	files []*file
	// err is the first error. After it nothing is stored, and the producer stops early.
	err error
}

// file is a file that is being written.
type file struct {
	archive *archive
	path    string
	// lines stores values; nil before the first one. closers end the file, in this order.
	lines   *json.Encoder
	closers []io.Closer
}

// create starts a file, compressed unless its name ends in ".ndjson". A file without
// lines is not created.
func (a *archive) create(path ...string) *file {
	f := &file{archive: a, path: filepath.Join(path...)}
	a.files = append(a.files, f)
	return f
}

// close closes the files that an early stop left open, and returns the first error.
func (a *archive) close() error {
	for _, f := range a.files {
		f.close()
	}
	return a.err
}

// write appends a line. After an error of any file it does nothing.
func (f *file) write(value any) {
	if f.lines == nil && f.archive.err == nil {
		f.archive.err = f.open()
	}
	if f.archive.err != nil {
		return
	}
	if err := f.lines.Encode(value); err != nil {
		f.archive.err = fmt.Errorf("write line of %s: %w", f.path, err)
	}
}

// open creates the file, which must not exist, and its folder.
func (f *file) open() error {
	path := filepath.Join(f.archive.dir, f.path)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("create folder of generated file: %w", err)
	}
	//nolint:gosec // the folder is the caller's choice
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("create generated file: %w", err)
	}
	f.lines, f.closers = json.NewEncoder(out), []io.Closer{out}
	if filepath.Ext(path) != ".ndjson" {
		// The error reports an invalid level, and this level is valid.
		packer, _ := gzip.NewWriterLevel(out, gzip.BestSpeed)
		f.lines, f.closers = json.NewEncoder(packer), []io.Closer{packer, out}
	}
	f.lines.SetEscapeHTML(false)
	return nil
}

// close ends the file. Closing a file again does nothing.
func (f *file) close() {
	for _, closer := range f.closers {
		f.archive.err = cmp.Or(f.archive.err, closer.Close())
	}
	f.lines, f.closers = nil, nil
}
