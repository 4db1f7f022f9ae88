// Package source reads the files that upstream systems publish (Snapshot, Tally,
// Discourse, and Pnyx's own canonical lines) and converts their lines to records.
//
// A file is NDJSON, one JSON object per line, plain or gzip. [Find] lists the files to
// import and recognizes the format of each by the fields of its first record, never by
// its name; every later line must match the same format. [Open] returns a [Reader],
// which reads a file line by line, so that memory does not grow with the file. A line
// that is not a valid record is returned as a [RejectedError], and reading continues.
//
// Numbers are converted from their text and keep every digit. An optional field that
// is absent or null is empty in the record; an absent identifier rejects the line.
// docs/sources.md describes the formats and documents the canonical lines.
package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"pnyx/warehouse/record"
)

// DefaultMaxLineBytes is the default maximum length of a line: 8 MiB, far above the longest texts.
const DefaultMaxLineBytes = 8 << 20

// Reader reads the records of one file. Only BytesRead may be called concurrently.
type Reader struct {
	file   File
	format *format // nil for a file without records
	stream *stream
	lines  lines
	line   line
	// err is the error that ended the file.
	err error
}

// lineLimit returns DefaultMaxLineBytes where there is no other maximum.
func lineLimit(maxLine int) int { return cmp.Or(max(maxLine, 0), DefaultMaxLineBytes) }

// Open opens a file that Find has listed. Lines of more than maxLine bytes are rejected; 0 or less means
// DefaultMaxLineBytes. The caller must call Close.
func Open(file File, maxLine int) (*Reader, error) {
	format := file.Format.lookup()
	if format != nil && format.needsHost && file.Host == "" {
		return nil, fmt.Errorf("%s: File.Host is empty for a %s", file.Path, file.Format)
	}
	from, err := openStream(file.Path)
	if err != nil {
		return nil, err
	}
	return &Reader{
		file: file, format: format, stream: from,
		lines: lines{from: from.text, limit: lineLimit(maxLine)},
		line:  line{host: file.Host},
	}, nil
}

// Next returns the next record. The error is io.EOF after the last record. A
// *RejectedError reports a rejected line; the next call continues with the line after
// it. Any other error ends the file, and every later call returns it again.
func (r *Reader) Next() (record.Record, error) {
	if r.err != nil {
		return nil, r.err
	}
	text, tooLong, err := r.nextLine()
	if err != nil {
		r.err = err
		return nil, err
	}
	if tooLong {
		return nil, r.reject(text, nil, fmt.Sprintf("is longer than %d bytes", r.lines.limit))
	}
	if r.format == nil {
		return nil, r.reject(text, nil, "was added after the file was listed")
	}
	parsed, reason := r.format.parse(&r.line, text)
	if reason != "" {
		return nil, r.reject(text, parsed, reason)
	}
	return parsed, nil
}

func (r *Reader) nextLine() (text []byte, tooLong bool, err error) {
	for {
		text, tooLong, err = r.lines.next()
		if errors.Is(err, io.EOF) {
			return nil, false, io.EOF
		}
		if err != nil {
			err = fmt.Errorf("%s: line %d: %w", r.file.Path, r.lines.number, explainTruncation(err))
			return nil, false, err
		}
		if text = text[skipSpace(text, 0):]; len(text) > 0 {
			return text, tooLong, nil
		}
	}
}

func (r *Reader) reject(text []byte, read record.Record, reason string) error {
	return &RejectedError{
		File:   r.file.Path,
		Line:   r.lines.number,
		Reason: reason,
		Record: read,
		Text:   record.Clip(string(text[:min(len(text), maxRejectedText+1)]), maxRejectedText),
	}
}

// BytesRead returns how many bytes of the file on disk have been read, at any time.
func (r *Reader) BytesRead() int64 { return r.stream.fileBytes.read.Load() }

// Close closes the file.
func (r *Reader) Close() error { return r.stream.close() }
