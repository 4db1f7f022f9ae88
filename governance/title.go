package governance

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	// derivedTitleLength is the maximum number of characters of a title from the beginning of a text.
	derivedTitleLength = 80
	// headingLength is the maximum number of characters of a title from a heading.
	headingLength = 250
)

// headingLine matches a Markdown heading, and its text without the closing marks.
var headingLine = regexp.MustCompile(`^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$`)

// TitleOrDerived returns the title that upstream states, or else, with derived true, the first heading of the body or
// the body's first 80 characters; empty for a body without text.
func TitleOrDerived(title, body string) (shown string, derived bool) {
	if strings.TrimSpace(title) != "" {
		return title, false
	}
	shown = firstHeading(body)
	if shown == "" {
		shown = cutText(withoutEmphasis(body), derivedTitleLength)
	}
	return shown, shown != ""
}

// firstHeading returns the text of the first Markdown heading that has one, outside of blocks of code.
func firstHeading(body string) string {
	fence := ""
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimLeft(line, " ")
		mark := trimmed[:min(len(trimmed), len("```"))]
		switch {
		case fence == "" && (mark == "```" || mark == "~~~"):
			fence = mark
		case fence != "" && mark == fence:
			fence = ""
		case fence == "":
			if found := headingLine.FindStringSubmatch(line); found != nil {
				if text := cutText(withoutEmphasis(found[1]), headingLength); strings.Trim(text, "# ") != "" {
					return text
				}
			}
		}
	}
	return ""
}

// withoutEmphasis removes the marks of a text that is emphasized as a whole.
func withoutEmphasis(text string) string {
	text = strings.TrimSpace(text)
	for _, mark := range []string{"***", "**", "__", "*", "_"} {
		inner, begins := strings.CutPrefix(text, mark)
		inner, ends := strings.CutSuffix(inner, mark)
		if begins && ends && inner != "" && !strings.Contains(inner, mark) {
			return inner
		}
	}
	return text
}

// cutText returns the first characters of a text, each run of white space as one space.
func cutText(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return strings.TrimRight(string([]rune(text)[:most]), " ")
}
