package source

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// readBuffer is how many bytes are unpacked at a time. Nearly every line fits,
// and is then handed out without being copied.
const readBuffer = 64 << 10

// lines cuts a stream into lines, of which none takes more memory than the limit.
type lines struct {
	from *bufio.Reader
	most int
	// number is that of the line that next returned last, from 1.
	number int
	// held keeps a line that does not fit into the buffer of from.
	held []byte
}

// next returns a line without its end; it stays valid until the next call. Of a
// line above the limit it returns the beginning and tooLong. A last line may lack
// its line feed. The error is io.EOF after the last line; after any other error
// the line that it cut is lost.
func (l *lines) next() (text []byte, tooLong bool, err error) {
	l.number++
	l.held = l.held[:0]
	for {
		part, err := l.from.ReadSlice('\n')
		last := err == nil || errors.Is(err, io.EOF)
		if !last && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, false, err
		}
		if last && len(l.held) == 0 && !tooLong {
			text = part
		} else {
			tooLong = l.hold(part) || tooLong
			text = l.held
		}
		if !last {
			continue
		}
		if len(text) == 0 {
			return nil, false, err
		}
		text, _ = bytes.CutSuffix(text, []byte("\n"))
		return text, tooLong || len(text) > l.most, nil
	}
}

// hold appends part to what is held of a line, unless the line is above the
// limit.
func (l *lines) hold(part []byte) (tooLong bool) {
	tooLong = len(l.held)+len(part) > l.most+len("\n")
	if tooLong {
		part = part[:max(0, min(len(part), maxRejectedText-len(l.held)))]
	}
	l.held = append(l.held, part...)
	return tooLong
}
