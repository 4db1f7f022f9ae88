package client

import (
	"strings"
	"unicode/utf8"
)

// maxWidth is the width that lines are wrapped at, in columns.
const maxWidth = 100

// comment wraps texts, joined, into lines that begin with a prefix.
func comment(prefix string, texts ...string) string { return wrap(prefix, prefix, texts...) }

// hanging is comment with further lines indented.
func hanging(prefix string, texts ...string) string { return wrap(prefix, prefix+"    ", texts...) }

// wrap wraps texts, joined, into lines: the first begins with first, others with next.
func wrap(first, next string, texts ...string) string {
	return wrapWords(first, next, strings.Fields(strings.Join(texts, "")))
}

// wrapWords puts words on lines: the first begins with first, others with next.
func wrapWords(first, next string, words []string) string {
	var lines []string
	line, prefix := first, first
	for _, word := range words {
		if line != prefix && utf8.RuneCountInString(line+word) > maxWidth {
			lines, line, prefix = append(lines, strings.TrimRight(line, " ")), next, next
		}
		line += word + " "
	}
	return strings.Join(append(lines, strings.TrimRight(line, " ")), "\n")
}

func fits(line string) bool { return utf8.RuneCountInString(line) <= maxWidth }
