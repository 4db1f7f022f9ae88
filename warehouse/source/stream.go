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

const (
	// maxRatio bounds how many bytes of text a byte of a compressed file may stand for, once
	// the text has more than freeText. Lines of JSON have 5 to 30; 1,000 is what gzip makes
	// of a text that says nothing.
	maxRatio = 250
	freeText = 64 << 20
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
		s.text = bufio.NewReaderSize(&boundedText{from: unpacked, file: &s.fileBytes}, readBufferSize)
	}
	if mark := "\ufeff"; s.hasPrefix(mark) {
		_, err := s.text.Discard(len(mark))
		return err
	}
	return nil
}

// hasPrefix reports whether the text starts with prefix. The next read returns any error.
func (s *stream) hasPrefix(prefix string) bool {
	first, _ := s.text.Peek(len(prefix))
	return bytes.Equal(first, []byte(prefix))
}

// close closes the file. The decompressor holds no resources.
func (s *stream) close() error { return s.file.Close() }

// explainTruncation says that a file is truncated, which gzip reports as an unexpected EOF.
func explainTruncation(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("file is truncated: %w", err)
	}
	return err
}

// boundedText is the text of a compressed file, with an error beyond what maxRatio allows.
type boundedText struct {
	from io.Reader
	file *counter
	read int64
}

// Read implements io.Reader.
func (b *boundedText) Read(into []byte) (int, error) {
	n, err := b.from.Read(into)
	if b.read += int64(n); b.read > freeText && b.read/maxRatio > b.file.read.Load() {
		return 0, fmt.Errorf("is compressed more than %d times: decompress it to import it", maxRatio)
	}
	return n, err
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
