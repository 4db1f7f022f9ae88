package governance

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// write adds text, with white space collapsed to one space unless it is verbatim.
func (p *postReader) write(text string) {
	for _, r := range text {
		switch {
		case p.text.Len() > p.most:
			return
		case isInvisible(r):
		case p.verbatim > 0 && r == '\n':
			p.gap = min(p.gap+1, 2)
		case p.verbatim > 0 && unicode.IsSpace(r):
			p.begin()
			p.text.WriteByte(' ')
		case unicode.IsSpace(r):
			p.space = true
		default:
			p.begin()
			p.text.WriteRune(r)
		}
	}
}

// begin writes the pending line ends, quote marks, space and marker.
func (p *postReader) begin() {
	first := p.text.Len() == 0
	switch {
	case first, p.gap > 0:
		if !first {
			p.text.WriteString("\n\n"[:p.gap])
		}
		p.text.WriteString(strings.Repeat("> ", min(p.quoted, maxIndent)))
	case p.space:
		p.text.WriteByte(' ')
	}
	p.text.WriteString(p.marker)
	p.gap, p.space, p.marker = 0, false, ""
}

// isInvisible reports whether a character is invisible or changes the direction of writing. White space does not
// count, nor does the joiner of emoji.
func isInvisible(r rune) bool {
	switch {
	case r == '\u200d' || unicode.IsSpace(r):
		return false
	case r == '\u00ad', r == '\u200b', r == '\ufeff', r >= '\u202a' && r <= '\u202e', r >= '\u2060' && r <= '\u206f':
		return true
	}
	return unicode.IsControl(r)
}

// summarize returns as many first sentences as fit or, below minSummaryRunes, as many words.
func summarize(text string) string {
	joined := []rune(strings.Join(strings.Fields(text), " "))
	if len(joined) <= maxSummaryRunes {
		return string(joined)
	}
	// whole is the end of the last sentence or line that fits as a whole.
	whole, at := 0, -1
	for line := range strings.Lines(text) {
		for word := range strings.FieldsSeq(line) {
			if at += 1 + utf8.RuneCountInString(word); at > maxSummaryRunes {
				return cutSummary(joined, whole)
			}
			if endsSentence(word) {
				whole = at
			}
		}
		whole = max(at, 0)
	}
	return cutSummary(joined, whole)
}

// endsSentence reports whether a word ends with a full stop or the like.
func endsSentence(word string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(word, "\"')]*”’"))
	return strings.ContainsRune(".!?…。！？", last)
}

// cutSummary cuts a text that is too long: after its whole sentences, or else between two words.
func cutSummary(text []rune, whole int) string {
	if whole >= minSummaryRunes {
		return string(text[:whole])
	}
	cut := string(text[:maxSummaryRunes-1])
	if at := strings.LastIndexByte(cut, ' '); at > 0 && text[maxSummaryRunes-1] != ' ' {
		cut = cut[:at]
	}
	return strings.TrimRight(cut, " ,;:-") + "…"
}
