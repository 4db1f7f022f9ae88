package doc

import (
	"html"
	"html/template"
	"regexp"
	"strings"
)

// inlineMarks are the marks inside a line of Markdown that our texts have, and their HTML.
func inlineMarks() []struct {
	pattern *regexp.Regexp
	html    string
} {
	return []struct {
		pattern *regexp.Regexp
		html    string
	}{
		{regexp.MustCompile("`([^`]+)`"), "<code>$1</code>"},
		{regexp.MustCompile(`\*\*([^*]+)\*\*`), "<b>$1</b>"},
		{regexp.MustCompile(`\[([^\]]+)\]\((/[^)\s]*)\)`), `<a href="$2">$1</a>`},
	}
}

// inlineHTML returns one line of Markdown as HTML.
func inlineHTML(line string) template.HTML {
	text := html.EscapeString(line)
	for _, mark := range inlineMarks() {
		text = mark.pattern.ReplaceAllString(text, mark.html)
	}
	return template.HTML(text) //nolint:gosec // everything was escaped before the marks
}

// markdownHTML returns Markdown as HTML: headings, paragraphs and tables, which is what the
// templates of documents have.
func markdownHTML(text string) template.HTML {
	var page strings.Builder
	for block := range strings.SplitSeq(text, "\n\n") {
		block = strings.TrimSpace(block)
		switch {
		case block == "":
		case strings.HasPrefix(block, "## "):
			page.WriteString("<h2>" + string(inlineHTML(block[len("## "):])) + "</h2>\n")
		case strings.HasPrefix(block, "|"):
			page.WriteString(tableHTML(strings.Split(block, "\n")))
		default:
			page.WriteString("<p>" + string(inlineHTML(block)) + "</p>\n")
		}
	}
	return template.HTML(page.String()) //nolint:gosec // of inlineHTML
}

// tableHTML returns the lines of a table: its head, a rule, and its rows.
func tableHTML(lines []string) string {
	var table strings.Builder
	table.WriteString(`<div class="scroll"><table>`)
	for i, line := range lines {
		if i == 1 {
			continue
		}
		cell := map[bool]string{true: "th", false: "td"}[i == 0]
		table.WriteString("<tr>")
		for text := range strings.SplitSeq(strings.Trim(line, "| "), "|") {
			table.WriteString("<" + cell + ">" + string(inlineHTML(strings.TrimSpace(text))) + "</" + cell + ">")
		}
		table.WriteString("</tr>")
	}
	table.WriteString("</table></div>\n")
	return table.String()
}
