package source

import (
	"errors"
	"fmt"
	"io"

	"pnyx/warehouse/record"
)

// DefaultMaxLine is the MaxLine of Limits that state none: 8 MiB, far above the
// longest texts of proposals and forum topics.
const DefaultMaxLine = 8 << 20

// Limits bound what reading a file may take.
type Limits struct {
	// MaxLine is the number of bytes above which a line is refused; 0 or less
	// means DefaultMaxLine.
	MaxLine int
}

// Reader reads the records of one file. Its methods may not be called at the
// same time, but for Read.
type Reader struct {
	file   File
	stream *stream
	lines  lines
	line   line
	// failed is what ended the file.
	failed error
}

// Open opens a file that Find has listed. Close has to be called at the end.
func Open(file File, limits Limits) (*Reader, error) {
	if file.Host == "" && file.Format.needsHost() {
		return nil, fmt.Errorf("%s: no host stated for the forum of a %s", file.Path, file.Format)
	}
	from, err := openStream(file.Path)
	if err != nil {
		return nil, err
	}
	most := limits.MaxLine
	if most <= 0 {
		most = DefaultMaxLine
	}
	return &Reader{file: file, stream: from, lines: lines{from: from.text, most: most}}, nil
}

// Next returns the next record. The error is io.EOF after the last one, and a
// *RejectedError for a line that is refused, after which Next goes on with the
// line below. Any other error ends the file: Next repeats it.
func (r *Reader) Next() (record.Record, error) {
	if r.failed != nil {
		return nil, r.failed
	}
	text, tooLong, err := r.nextLine()
	if err != nil {
		r.failed = err
		return nil, err
	}
	if tooLong {
		return nil, r.reject(text, fmt.Sprintf("is longer than %d bytes", r.lines.most))
	}
	if r.file.Format == "" {
		return nil, r.reject(text, "was not there when the file was listed")
	}
	parsed, reason := r.file.parse(&r.line, text)
	if reason != "" {
		return nil, r.reject(text, reason)
	}
	return parsed, nil
}

// nextLine returns the next line that is not blank.
func (r *Reader) nextLine() (text []byte, tooLong bool, err error) {
	for {
		text, tooLong, err = r.lines.next()
		if errors.Is(err, io.EOF) {
			return nil, false, io.EOF
		}
		if err != nil {
			return nil, false, fmt.Errorf("%s: line %d: %w", r.file.Path, r.lines.number, brokenOff(err))
		}
		if text = skipSpace(text); len(text) > 0 {
			return text, tooLong, nil
		}
	}
}

func (r *Reader) reject(text []byte, reason string) error {
	return &RejectedError{
		File:   r.file.Path,
		Line:   r.lines.number,
		Reason: reason,
		Text:   clip(string(text[:min(len(text), maxRejectedText+1)]), maxRejectedText),
	}
}

// Read returns how many bytes of the file have been read so far, as they are on
// disk. It may be called at any time, to show progress.
func (r *Reader) Read() int64 {
	return r.stream.onDisk.read.Load()
}

// Close closes the file.
func (r *Reader) Close() error {
	return r.stream.close()
}
