package demo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
)

// chunkSize is the number of bytes after which the lines of a file are stored.
const chunkSize = 1 << 20

// archive writes files of lines into a folder.
type archive struct {
	dir   string
	files []*file
	// err is the first error. After it nothing is stored, and the producer stops early.
	err error
}

// file is a file that is being written. The caller appends a line to text and calls
// endLine.
type file struct {
	archive *archive
	path    string
	text    []byte
	// to stores lines; nil before the first ones. closers end it, in this order.
	to      io.Writer
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

// endLine ends the line that the caller appended to text.
func (f *file) endLine() {
	f.text = append(f.text, '\n')
	if len(f.text) >= chunkSize {
		f.flush()
	}
}

func (f *file) writeJSON(value any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encode line of %s: %w", f.path, err)
	}
	f.text = append(f.text, bytes.TrimSuffix(line.Bytes(), []byte{'\n'})...)
	f.endLine()
	return nil
}

// flush stores the buffered lines. After an error it discards them.
func (f *file) flush() {
	if f.archive.err == nil && len(f.text) > 0 {
		f.archive.err = f.store()
	}
	f.text = f.text[:0]
}

func (f *file) store() error {
	if f.to == nil {
		if err := f.open(); err != nil {
			return err
		}
	}
	if _, err := f.to.Write(f.text); err != nil {
		return fmt.Errorf("write generated data: %w", err)
	}
	return nil
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
	f.to, f.closers = out, []io.Closer{out}
	if filepath.Ext(path) != ".ndjson" {
		// The error reports an invalid level, and this level is valid.
		packer, _ := gzip.NewWriterLevel(out, gzip.BestSpeed)
		f.to, f.closers = packer, []io.Closer{packer, out}
	}
	return nil
}

// close stores the remaining lines. Closing a file again does nothing.
func (f *file) close() {
	f.flush()
	for _, closer := range f.closers {
		f.archive.err = cmp.Or(f.archive.err, closer.Close())
	}
	f.text, f.to, f.closers = nil, nil, nil
}
