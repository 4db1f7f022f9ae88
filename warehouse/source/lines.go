package source

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// readBufferSize is the size of the read buffer in bytes. next returns a line that fits
// without copying it; nearly every line fits.
const readBufferSize = 64 << 10

// lines splits a stream into lines. No line takes more memory than the limit.
type lines struct {
	from *bufio.Reader
	// limit is the maximum length of a line in bytes.
	limit int
	// number is the number of the line that next returned last, from 1.
	number int
	// overflow holds a line that does not fit into the buffer of from.
	overflow []byte
}

// next returns the next line without its end. The line is valid until the next call. Of a line above the limit it
// returns the beginning and tooLong. The last line may lack its line feed. The error is io.EOF after the last
// line. After any other error the line in which it occurred is lost.
func (l *lines) next() (text []byte, tooLong bool, err error) {
	l.number++
	l.overflow = l.overflow[:0]
	for {
		part, err := l.from.ReadSlice('\n')
		last := err == nil || errors.Is(err, io.EOF)
		if !last && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, false, err
		}
		if last && len(l.overflow) == 0 && !tooLong {
			text = part
		} else {
			tooLong = l.appendOverflow(part) || tooLong
			text = l.overflow
		}
		if !last {
			continue
		}
		if len(text) == 0 {
			return nil, false, err
		}
		text, _ = bytes.CutSuffix(text, []byte("\n"))
		return text, tooLong || len(text) > l.limit, nil
	}
}

// appendOverflow appends part of a line to overflow. Of a line above the limit it keeps
// only as much as a rejection shows.
func (l *lines) appendOverflow(part []byte) (tooLong bool) {
	tooLong = len(l.overflow)+len(part) > l.limit+len("\n")
	if tooLong {
		part = part[:max(0, min(len(part), maxRejectedText-len(l.overflow)))]
	}
	l.overflow = append(l.overflow, part...)
	return tooLong
}
