package recount_test

import "strings"

// shownTitle is the title of a proposal: as stated, else the first heading of its text, at most
// 250 characters, else the first 80 characters of the text; nil where there is no text.
func shownTitle(title, body *string) (shown *string, derived bool) {
	if title = trimmed(title); title != nil || body == nil {
		return title, false
	}
	if heading := headingOf(*body); heading != "" {
		return &heading, true
	}
	if start := startOf(unstressed(*body), 80); start != "" {
		return &start, true
	}
	return nil, false
}

// headingOf returns the first heading with a text that is not within a fenced block of code.
func headingOf(body string) string {
	fence := ""
	for line := range strings.SplitSeq(body, "\n") {
		unindented := strings.TrimLeft(line, " ")
		for _, mark := range []string{"```", "~~~"} {
			if !strings.HasPrefix(unindented, mark) || fence != "" && fence != mark {
				continue
			}
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
			unindented = ""
		}
		if fence == "" && len(line)-len(unindented) <= 3 {
			if heading := startOf(unstressed(headingText(unindented)), 250); strings.Trim(heading, "# ") != "" {
				return heading
			}
		}
	}
	return ""
}

// headingText is the text of a line that begins with one to six marks and white space, without
// the marks that close it; "" for another line.
func headingText(line string) string {
	line = strings.TrimRight(line, " \t\r")
	opened := strings.TrimLeft(line, "#")
	marks := len(line) - len(opened)
	if marks < 1 || marks > 6 || !strings.HasPrefix(opened, " ") && !strings.HasPrefix(opened, "\t") {
		return ""
	}
	if closed := strings.TrimRight(opened, "#"); strings.HasSuffix(closed, " ") || strings.HasSuffix(closed, "\t") {
		opened = closed
	}
	return strings.TrimSpace(opened)
}

// unstressed is a text without the marks that stress all of it.
func unstressed(s string) string {
	s = strings.TrimSpace(s)
	for _, mark := range []string{"***", "**", "__", "*", "_"} {
		n := len(mark)
		if len(s) > 2*n && s[:n] == mark && s[len(s)-n:] == mark && !strings.Contains(s[n:len(s)-n], mark) {
			return s[n : len(s)-n]
		}
	}
	return s
}

// startOf is the beginning of a text, at most a number of characters, with single spaces.
func startOf(s string, most int) string {
	characters := []rune(strings.Join(strings.Fields(s), " "))
	return strings.TrimRight(string(characters[:min(most, len(characters))]), " ")
}
