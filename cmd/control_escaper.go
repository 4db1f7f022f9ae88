package cmd

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// controlEscaper is a writer that replaces control characters, except newlines and tabs, by visible escapes such
// as \x1b: names come from strangers, and a terminal obeys what it receives. Close writes what is left.
type controlEscaper struct {
	out io.Writer
	// rest is the beginning of a character whose other bytes have not been written yet.
	rest []byte
}

// Write implements io.Writer.
func (e *controlEscaper) Write(text []byte) (int, error) {
	rest := append(e.rest, text...)
	escaped := make([]byte, 0, len(rest)+64)
	for len(rest) > 0 && utf8.FullRune(rest) {
		r, size := utf8.DecodeRune(rest)
		escaped = appendEscaped(escaped, rest[:size], r)
		rest = rest[size:]
	}
	e.rest = append([]byte(nil), rest...)
	if _, err := e.out.Write(escaped); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Close writes the bytes that never became a character, escaped.
func (e *controlEscaper) Close() error {
	var escaped []byte
	for i := range e.rest {
		escaped = appendEscaped(escaped, e.rest[i:i+1], utf8.RuneError)
	}
	e.rest = nil
	_, err := e.out.Write(escaped)
	return err
}

func printable(text string) string {
	var escaped strings.Builder
	escaper := &controlEscaper{out: &escaped}
	_, err := io.WriteString(escaper, text)
	if err := errors.Join(err, escaper.Close()); err != nil {
		panic(err) // a Builder does not fail
	}
	return escaped.String()
}

// appendEscaped appends one character. A terminal may obey bytes above 0x7f, and direction marks deceive.
func appendEscaped(to, text []byte, r rune) []byte {
	switch {
	case r == '\n' || r == '\t':
	case r == utf8.RuneError && len(text) == 1:
		return fmt.Appendf(to, `\x%02x`, text[0])
	case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
		quoted := strconv.QuoteRuneToASCII(r)
		return append(to, quoted[1:len(quoted)-1]...)
	}
	return append(to, text...)
}
