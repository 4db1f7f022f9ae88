package demo

import (
	"html"
	"strconv"
	"strings"
)

// document is a text in sections. It renders as Markdown for a proposal and as HTML
// for a forum post.
type document []section

// section is one section of a document. Every field may be empty.
type section struct {
	heading    string
	paragraphs []string
	items      []string
	rows       []row
	links      []link
}

// row is a line of a budget table.
type row struct {
	item, sum string
}

type link struct {
	text, url string
}

// headings are the section headings of a DAO's proposals. mark is the Markdown prefix
// of a heading.
type headings struct {
	summary, motivation, steps, costs, risks, voting, mark string
}

func headingsOf(style int) headings {
	switch style % 3 {
	case 0:
		return headings{"Summary", "Motivation", "Specification", "Budget", "Risks", "Voting options", "## "}
	case 1:
		return headings{"Abstract", "Rationale", "Implementation", "Costs", "Risks and considerations", "Voting", "# "}
	}
	return headings{"TL;DR", "Background", "What we propose", "Budget", "What could go wrong", "How to vote", "### "}
}

// markdown renders the document with mark before each heading.
func (d document) markdown(mark string) string {
	var text strings.Builder
	for i, s := range d {
		if i > 0 {
			text.WriteString("\n\n")
		}
		s.markdown(&text, mark)
	}
	return text.String()
}

func (s section) markdown(text *strings.Builder, mark string) {
	var parts []string
	if s.heading != "" {
		parts = append(parts, mark+s.heading)
	}
	parts = append(parts, s.paragraphs...)
	if len(s.items) > 0 {
		parts = append(parts, "- "+strings.Join(s.items, "\n- "))
	}
	if len(s.rows) > 0 {
		parts = append(parts, tableMarkdown(s.rows))
	}
	for _, link := range s.links {
		parts = append(parts, "["+link.text+"]("+link.url+")")
	}
	text.WriteString(strings.Join(parts, "\n\n"))
}

func tableMarkdown(rows []row) string {
	lines := []string{"| Item | Amount |", "| --- | ---: |"}
	for _, row := range rows {
		lines = append(lines, "| "+row.item+" | "+row.sum+" |")
	}
	return strings.Join(lines, "\n")
}

// html renders the document as Discourse does.
func (d document) html() string {
	var text strings.Builder
	for i, s := range d {
		s.html(&text, i+1)
	}
	return text.String()
}

func (s section) html(text *strings.Builder, number int) {
	if s.heading != "" {
		anchor := slugOf(s.heading) + "-" + strconv.Itoa(number)
		text.WriteString(`<h2><a name="` + anchor + `" class="anchor" href="#` + anchor + `"></a>`)
		text.WriteString(html.EscapeString(s.heading) + "</h2>\n")
	}
	for _, paragraph := range s.paragraphs {
		text.WriteString("<p>" + html.EscapeString(paragraph) + "</p>\n")
	}
	if len(s.items) > 0 {
		text.WriteString("<ul>\n")
		for _, item := range s.items {
			text.WriteString("<li>" + html.EscapeString(item) + "</li>\n")
		}
		text.WriteString("</ul>\n")
	}
	tableHTML(text, s.rows)
	for _, link := range s.links {
		url := html.EscapeString(link.url)
		text.WriteString(`<p><a href="` + url + `">` + html.EscapeString(link.text) + "</a></p>\n")
	}
}

func tableHTML(text *strings.Builder, rows []row) {
	if len(rows) == 0 {
		return
	}
	text.WriteString("<div class=\"md-table\">\n<table>\n<thead>\n")
	text.WriteString("<tr>\n<th>Item</th>\n<th>Amount</th>\n</tr>\n</thead>\n<tbody>\n")
	for _, row := range rows {
		text.WriteString("<tr>\n<td>" + html.EscapeString(row.item) + "</td>\n")
		text.WriteString("<td>" + html.EscapeString(row.sum) + "</td>\n</tr>\n")
	}
	text.WriteString("</tbody>\n</table>\n</div>\n")
}

// slugOf returns the URL slug that Discourse derives from a title.
func slugOf(title string) string {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == '\'':
			return -1
		}
		return ' '
	}, title)
	return strings.Join(strings.Fields(slug), "-")
}
