package source

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// maxRejectedText bounds the bytes of a refused line that are kept to show.
	maxRejectedText = 4 << 10
	// maxShownValue bounds the bytes of a value in a reason.
	maxShownValue = 80
)

// RejectedError is what a line that cannot be a record is refused with. The lines
// after it can still be read.
type RejectedError struct {
	// File is the path of the file, Line the number of the line in it, from 1.
	File string
	Line int
	// Reason says which field is wrong, and what is wanted there.
	Reason string
	// Text is the line, cut at 4 KiB; bytes that are not UTF-8 are replaced.
	Text string
}

// Error returns file, line and reason.
func (e *RejectedError) Error() string {
	return fmt.Sprintf("%s: line %d: %s", e.File, e.Line, e.Reason)
}

// clip cuts text that is to be shown to at most some bytes of UTF-8.
func clip(text string, most int) string {
	cut := strings.ToValidUTF8(text[:min(len(text), most+utf8.UTFMax)], "\uFFFD")
	if len(cut) <= most {
		return cut
	}
	for !utf8.RuneStart(cut[most]) {
		most--
	}
	return cut[:most]
}
