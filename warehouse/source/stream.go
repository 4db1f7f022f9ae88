package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
)

// stream is an open file, unpacked where it is packed.
type stream struct {
	file   *os.File
	onDisk counter
	// text is what the file holds, without a byte order mark.
	text *bufio.Reader
}

// openStream opens a file for reading from the start. Whether it is gzip is told
// by its first bytes.
func openStream(path string) (*stream, error) {
	file, err := os.Open(path) //nolint:gosec // reading the files that the caller names is the purpose
	if err != nil {
		return nil, err
	}
	s := &stream{file: file, onDisk: counter{from: file}}
	if err := s.unpack(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, brokenOff(err)), s.close())
	}
	return s, nil
}

func (s *stream) unpack() error {
	s.text = bufio.NewReaderSize(&s.onDisk, readBuffer)
	if s.beginsWith("\x1f\x8b") {
		unpacked, err := gzip.NewReader(s.text)
		if err != nil {
			return err
		}
		s.text = bufio.NewReaderSize(unpacked, readBuffer)
	}
	if mark := "\ufeff"; s.beginsWith(mark) {
		_, err := s.text.Discard(len(mark))
		return err
	}
	return nil
}

// beginsWith leaves an error for the read that will meet it again.
func (s *stream) beginsWith(magic string) bool {
	first, _ := s.text.Peek(len(magic))
	return bytes.Equal(first, []byte(magic))
}

// close closes the file. The unpacker holds nothing, and would only repeat the
// error of its last read.
func (s *stream) close() error {
	return s.file.Close()
}

// brokenOff says in plain words that a packed file is cut short.
func brokenOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("ends in the middle: %w", err)
	}
	return err
}

// counter counts the bytes that are read through it.
type counter struct {
	from io.Reader
	read atomic.Int64
}

// Read implements io.Reader.
func (c *counter) Read(into []byte) (int, error) {
	n, err := c.from.Read(into)
	c.read.Add(int64(n))
	return n, err
}
