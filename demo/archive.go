package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/errgroup"
)

// chunkSize is the number of bytes after which the lines of a file are stored.
const chunkSize = 1 << 20

// chunksPerFile bounds the memory of a file: one chunk is filled while others are stored.
const chunksPerFile = 3

// maxOpenFiles bounds the files that are being stored. It exceeds the number of those
// that the generator keeps open.
const maxOpenFiles = 16

// archive writes files of lines into a folder. Each file is compressed and stored by a
// goroutine of its own, while more lines are produced.
type archive struct {
	dir     string
	files   []*file
	storing errgroup.Group
	// failed tells the producer to stop early.
	failed atomic.Bool
}

// file is a file that is being written. The caller appends a line to text and calls
// endLine.
type file struct {
	archive *archive
	path    string
	text    []byte
	// full carries chunks to the goroutine that stores them; nil before the first one and
	// after the last. free carries their memory back.
	full, free chan []byte
}

func newArchive(dir string) *archive {
	a := &archive{dir: dir}
	a.storing.SetLimit(maxOpenFiles)
	return a
}

// create starts a file, compressed unless its name ends in ".ndjson". A file without
// lines is not created.
func (a *archive) create(path ...string) *file {
	f := &file{archive: a, path: filepath.Join(path...)}
	a.files = append(a.files, f)
	return f
}

// close closes the files that an early stop left open, waits until everything is stored
// and returns the first error.
func (a *archive) close() error {
	for _, f := range a.files {
		f.close()
	}
	return a.storing.Wait()
}

// endLine ends the line that the caller appended to text.
func (f *file) endLine() {
	f.text = append(f.text, '\n')
	if len(f.text) >= chunkSize {
		f.submit()
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

// submit hands the buffered lines over to be stored and continues with a free chunk.
func (f *file) submit() {
	if f.full == nil {
		f.full, f.free = make(chan []byte, 1), make(chan []byte, chunksPerFile)
		for range chunksPerFile - 1 {
			f.free <- nil
		}
		full, free := f.full, f.free
		f.archive.storing.Go(func() error { return f.store(full, free) })
	}
	f.full <- f.text
	f.text = (<-f.free)[:0]
}

// close submits the remaining lines. Closing a file again does nothing.
func (f *file) close() {
	if len(f.text) > 0 {
		f.submit()
	}
	if f.full != nil {
		close(f.full)
	}
	f.text, f.full = nil, nil
}

// store stores chunks until full is closed. After an error it discards them.
func (f *file) store(full <-chan []byte, free chan<- []byte) error {
	err := writeFile(filepath.Join(f.archive.dir, f.path), full, free)
	f.archive.failed.CompareAndSwap(false, err != nil)
	for text := range full {
		free <- text
	}
	return err
}

// writeFile writes chunks into a file that must not exist, and creates its folder.
func writeFile(path string, full <-chan []byte, free chan<- []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("create folder of generated file: %w", err)
	}
	//nolint:gosec // the folder is the caller's choice
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("create generated file: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	var into io.Writer = out
	if filepath.Ext(path) != ".ndjson" {
		// The error reports an invalid level, and this level is valid.
		packer, _ := gzip.NewWriterLevel(out, gzip.BestSpeed)
		defer func() { err = errors.Join(err, packer.Close()) }()
		into = packer
	}
	for text := range full {
		_, err := into.Write(text)
		free <- text
		if err != nil {
			return fmt.Errorf("write generated data: %w", err)
		}
	}
	return nil
}
