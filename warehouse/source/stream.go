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

type stream struct {
	file      *os.File
	fileBytes counter
	// text is the decompressed content without a byte order mark.
	text *bufio.Reader
}

// openStream opens a file. It recognizes gzip by the first bytes, not by the name.
func openStream(path string) (*stream, error) {
	file, err := os.Open(path) //nolint:gosec // reading the files that the caller names is the purpose
	if err != nil {
		return nil, err
	}
	s := &stream{file: file, fileBytes: counter{from: file}}
	if err := s.decompress(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, explainTruncation(err)), s.close())
	}
	return s, nil
}

// decompress sets text. It skips a byte order mark.
func (s *stream) decompress() error {
	s.text = bufio.NewReaderSize(&s.fileBytes, readBufferSize)
	if s.hasPrefix("\x1f\x8b") {
		unpacked, err := gzip.NewReader(s.text)
		if err != nil {
			return err
		}
		s.text = bufio.NewReaderSize(unpacked, readBufferSize)
	}
	if mark := "\ufeff"; s.hasPrefix(mark) {
		_, err := s.text.Discard(len(mark))
		return err
	}
	return nil
}

// hasPrefix reports whether the text starts with prefix. The next read returns any
// error of the underlying reader.
func (s *stream) hasPrefix(prefix string) bool {
	first, _ := s.text.Peek(len(prefix))
	return bytes.Equal(first, []byte(prefix))
}

// close closes the file. The decompressor holds no resources, and its Close would only
// repeat the error of its last read.
func (s *stream) close() error {
	return s.file.Close()
}

// explainTruncation says that a compressed file is truncated, which gzip reports as an
// unexpected EOF.
func explainTruncation(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("file is truncated: %w", err)
	}
	return err
}

type counter struct {
	from io.Reader
	read atomic.Int64
}

// BytesRead implements io.Reader.
func (c *counter) Read(into []byte) (int, error) {
	n, err := c.from.Read(into)
	c.read.Add(int64(n))
	return n, err
}
