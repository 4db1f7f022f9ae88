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

// chunkSize is after how many bytes the lines of a file are handed over for
// compression. Each chunk becomes a gzip member of its own, so that chunks are
// compressed at the same time and the bytes still do not depend on how fast.
const chunkSize = 1 << 20

// archive writes files of lines into a folder. Lines are produced by one goroutine,
// compressed by as many as there are processors, and stored by one more in the
// order in which they were produced.
type archive struct {
	dir string
	// free bounds the chunks under way, and so the memory.
	free chan *chunk
	// work and queue carry the same chunks, to whoever compresses next and to
	// the one who stores them in order.
	work, queue chan *chunk
	working     sync.WaitGroup
	stored      chan struct{}
	// spare is the room of files that were closed.
	spare [][]byte

	bytes int64
	err   error // the first one; to be read after failed says so
	// failed lets the producer stop early.
	failed atomic.Bool
}

// chunk is a part of a file.
type chunk struct {
	file   *file
	text   []byte
	packed bytes.Buffer
	done   chan struct{}
	last   bool
}

// file is a file under construction. Lines are appended to text and ended by
// endLine.
type file struct {
	archive *archive
	path    string
	plain   bool
	text    []byte
	// begun says that a part of the file was handed over.
	begun bool
}

func newArchive(dir string) *archive {
	workers := runtime.GOMAXPROCS(0)
	chunks := 2*workers + 2
	a := &archive{
		dir:    dir,
		free:   make(chan *chunk, chunks),
		work:   make(chan *chunk, chunks),
		queue:  make(chan *chunk, chunks),
		stored: make(chan struct{}),
	}
	for range chunks {
		a.free <- &chunk{done: make(chan struct{}, 1)}
	}
	for range workers {
		a.working.Go(a.compress)
	}
	go a.store()
	return a
}

// create begins a file, compressed unless its name ends in ".ndjson". A file that
// gets no line is not created.
func (a *archive) create(path ...string) *file {
	name := filepath.Join(path...)
	f := &file{archive: a, path: name, plain: filepath.Ext(name) == ".ndjson"}
	if last := len(a.spare) - 1; last >= 0 {
		f.text, a.spare = a.spare[last], a.spare[:last]
	}
	return f
}

// close waits until everything is stored.
func (a *archive) close() (size int64, err error) {
	close(a.work)
	close(a.queue)
	a.working.Wait()
	<-a.stored
	return a.bytes, a.err
}

func (a *archive) compress() {
	// The level is a valid one, which is all that the error is about.
	packer, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	for c := range a.work {
		c.packed.Reset()
		if !c.file.plain {
			packer.Reset(&c.packed)
			_, _ = packer.Write(c.text) // A buffer takes everything.
			_ = packer.Close()
		} else {
			c.packed.Write(c.text)
		}
		c.done <- struct{}{}
	}
}

// store puts chunks into their files until there are no more, and closes what an
// early end has left open.
func (a *archive) store() {
	defer close(a.stored)
	open := map[*file]*os.File{}
	for c := range a.queue {
		<-c.done
		if a.err == nil {
			a.err = a.append(open, c)
			a.failed.Store(a.err != nil)
		}
		a.free <- c
	}
	for _, out := range open {
		_ = out.Close() // The file is incomplete, and whoever stopped early knows.
	}
}

// append appends a chunk to its file, which it opens first and closes last.
func (a *archive) append(open map[*file]*os.File, c *chunk) error {
	out := open[c.file]
	if out == nil {
		created, err := createFile(filepath.Join(a.dir, c.file.path))
		if err != nil {
			return err
		}
		out, open[c.file] = created, created
	}
	written, err := out.Write(c.packed.Bytes())
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

// endLine ends the line that was appended to text.
func (f *file) endLine() {
	f.text = append(f.text, '\n')
	if len(f.text) >= chunkSize {
		f.hand(false)
	}
}

// record appends a line that holds a value as JSON.
func (f *file) record(value any) error {
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

// close hands over what is left, unless there never was anything.
func (f *file) close() {
	if f.begun || len(f.text) > 0 {
		f.hand(true)
	}
	f.archive.spare = append(f.archive.spare, f.text)
	f.text = nil
}

// hand gives the lines so far away and goes on with the room of a free chunk.
func (f *file) hand(last bool) {
	f.begun = true
	c := <-f.archive.free
	c.file, c.last = f, last
	c.text, f.text = f.text, c.text[:0]
	f.archive.queue <- c
	f.archive.work <- c
}
