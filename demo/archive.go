package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
)

// chunkSize is the number of bytes after which the lines of a file are compressed.
// Each chunk becomes a gzip member of its own, so that chunks are compressed
// concurrently and the output does not depend on timing.
const chunkSize = 1 << 20

// archive writes files of lines into a folder. One goroutine produces lines, as many
// as there are processors compress them, and one more stores the chunks in the order
// in which they were produced.
type archive struct {
	dir string
	// freeChunks bounds the chunks in flight, and therefore the memory.
	freeChunks chan *chunk
	// toCompress and toStore carry the same chunks: to the next free compressor, and
	// to the goroutine that stores them in order.
	toCompress, toStore chan *chunk
	compressors         sync.WaitGroup
	// stored is closed when all chunks are stored.
	stored chan struct{}
	// freeBuffers are the text buffers of closed files.
	freeBuffers [][]byte

	bytes int64
	// err is the first error. It may be read once failed is true or stored is closed.
	err error
	// failed tells the producer to stop early.
	failed atomic.Bool
}

// chunk is a part of a file.
type chunk struct {
	file       *file
	text       []byte
	compressed bytes.Buffer
	// done receives a value when compressed is complete.
	done chan struct{}
	// last is true for the last chunk of the file.
	last bool
}

// file is a file that is being written. The caller appends a line to text and calls
// endLine.
type file struct {
	archive *archive
	path    string
	plain   bool
	text    []byte
	// started is true if a chunk of the file was submitted.
	started bool
}

func newArchive(dir string) *archive {
	workers := runtime.GOMAXPROCS(0)
	chunks := 2*workers + 2
	a := &archive{
		dir:        dir,
		freeChunks: make(chan *chunk, chunks),
		toCompress: make(chan *chunk, chunks),
		toStore:    make(chan *chunk, chunks),
		stored:     make(chan struct{}),
	}
	for range chunks {
		a.freeChunks <- &chunk{done: make(chan struct{}, 1)}
	}
	for range workers {
		a.compressors.Go(a.compress)
	}
	go a.store()
	return a
}

// create starts a file, compressed unless its name ends in ".ndjson". A file without
// lines is not created.
func (a *archive) create(path ...string) *file {
	name := filepath.Join(path...)
	f := &file{archive: a, path: name, plain: filepath.Ext(name) == ".ndjson"}
	if last := len(a.freeBuffers) - 1; last >= 0 {
		f.text, a.freeBuffers = a.freeBuffers[last], a.freeBuffers[:last]
	}
	return f
}

// close waits until everything is stored and returns the size of all files.
func (a *archive) close() (size int64, err error) {
	close(a.toCompress)
	close(a.toStore)
	a.compressors.Wait()
	<-a.stored
	return a.bytes, a.err
}

// compress compresses chunks until toCompress is closed.
func (a *archive) compress() {
	// The error reports an invalid level, and this level is valid.
	packer, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	for c := range a.toCompress {
		c.compressed.Reset()
		if !c.file.plain {
			packer.Reset(&c.compressed)
			_, _ = packer.Write(c.text) // A buffer takes everything.
			_ = packer.Close()
		} else {
			c.compressed.Write(c.text)
		}
		c.done <- struct{}{}
	}
}

// store writes chunks into their files until toStore is closed. Then it closes the
// files that an early stop left open.
func (a *archive) store() {
	defer close(a.stored)
	open := map[*file]*os.File{}
	for c := range a.toStore {
		<-c.done
		if a.err == nil {
			a.err = a.append(open, c)
			a.failed.Store(a.err != nil)
		}
		a.freeChunks <- c
	}
	for _, out := range open {
		_ = out.Close() // The file is incomplete; the early stop reported its own error.
	}
}

// append appends a chunk to its file. It creates the file with the first chunk and
// closes it with the last.
func (a *archive) append(open map[*file]*os.File, c *chunk) error {
	out := open[c.file]
	if out == nil {
		created, err := createFile(filepath.Join(a.dir, c.file.path))
		if err != nil {
			return err
		}
		out, open[c.file] = created, created
	}
	written, err := out.Write(c.compressed.Bytes())
	a.bytes += int64(written)
	if err != nil {
		return fmt.Errorf("write generated data: %w", err)
	}
	if !c.last {
		return nil
	}
	delete(open, c.file)
	if err := out.Close(); err != nil {
		return fmt.Errorf("close generated file: %w", err)
	}
	return nil
}

// createFile creates a file that must not exist, and its folder.
func createFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("create folder of generated file: %w", err)
	}
	//nolint:gosec // the folder is the caller's choice
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create generated file: %w", err)
	}
	return out, nil
}

// endLine ends the line that the caller appended to text.
func (f *file) endLine() {
	f.text = append(f.text, '\n')
	if len(f.text) >= chunkSize {
		f.submit(false)
	}
}

// writeJSON appends a value as a line of JSON.
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

// close submits the remaining lines. It does nothing for a file without lines.
func (f *file) close() {
	if f.started || len(f.text) > 0 {
		f.submit(true)
	}
	f.archive.freeBuffers = append(f.archive.freeBuffers, f.text)
	f.text = nil
}

// submit hands the buffered lines to the compressors and continues with the buffer of
// a free chunk.
func (f *file) submit(last bool) {
	f.started = true
	c := <-f.archive.freeChunks
	c.file, c.last = f, last
	c.text, f.text = f.text, c.text[:0]
	f.archive.toStore <- c
	f.archive.toCompress <- c
}
