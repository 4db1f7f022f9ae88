package doc

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/yuin/goldmark/parser"

	"pnyx/api"
	"pnyx/docs"
	"pnyx/page"
)

// Guide is a guide that a node serves: at Path as a page, at Path and ".md" as Markdown.
type Guide struct {
	// Name is the name of its file, and About says in a few words what it is about.
	Name, About string
}

// Guides lists the guides.
func Guides() []Guide {
	return []Guide{
		{"partners", "from a token to a mirror: limits, changes, exports, webhooks, clients, tools"},
		{"rules", "how events and signals are worked out"},
		{"analysts", "questions in SQL: how to ask, limits, settings, other programs"},
		{"schema", "the views for SQL"},
	}
}

// Path is where the page is.
func (g Guide) Path() string { return api.PathDocs + "/guides/" + g.Name }

// guideLinks are served paths by the files that guides link to.
func guideLinks(extension string) map[string]string {
	paths := map[string]string{"agent-v2.json": api.PathOpenAPI, "../server.json": api.PathRegistry}
	for _, guide := range Guides() {
		paths[guide.Name+".md"] = guide.Path() + extension
	}
	return paths
}

var (
	// markdownLink is a link in a line of Markdown: its text, file and fragment.
	markdownLink = regexp.MustCompile(`\[([^\]]+)\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	// markdownComment is a line for the tests of the documents.
	markdownComment = regexp.MustCompile(`(?m)^<!--.*-->\n+`)
)

// text returns the guide as Markdown. Links to what is served lead there, to guides with an
// extension; of a link to another file of the repository the text is left.
func (g Guide) text(extension string) (string, error) {
	file, err := docs.Guides.ReadFile(g.Name + ".md")
	if err != nil {
		return "", fmt.Errorf("read the guide %s: %w", g.Name, err)
	}
	paths, fenced := guideLinks(extension), false
	lines := strings.Split(markdownComment.ReplaceAllString(string(file), ""), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if fenced || strings.HasPrefix(line, "    ") {
			continue
		}
		lines[i] = markdownLink.ReplaceAllStringFunc(line, func(link string) string {
			part := markdownLink.FindStringSubmatch(link)
			path, served := paths[part[2]]
			if local, is := strings.CutPrefix(part[2], "http://127.0.0.1:8080"); is {
				path, served = local, true
			}
			switch {
			case served:
				return "[" + part[1] + "](" + path + part[3] + ")"
			case part[2] == "" || strings.HasPrefix(part[2], "https://"):
				return link
			}
			return part[1]
		})
	}
	return strings.Join(lines, "\n"), nil
}

// guides returns the guides as pages for people, and as Markdown for agents.
func guides() []api.Document {
	var documents []api.Document
	for _, guide := range Guides() {
		documents = append(documents,
			api.Document{
				Path: guide.Path(), ContentType: fiber.MIMETextHTMLCharsetUTF8, Header: page.Header(), Render: guide.page,
			},
			api.Document{Path: guide.Path() + ".md", ContentType: mimeMarkdown, Render: func() ([]byte, error) {
				text, err := guide.text(".md")
				return []byte(text), err
			}},
		)
	}
	return documents
}

// page renders the guide as a page.
func (g Guide) page() ([]byte, error) {
	text, err := g.text("")
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	if err := converter(parser.WithAutoHeadingID()).Convert([]byte(text), &content); err != nil {
		return nil, fmt.Errorf("render the guide %s: %w", g.Name, err)
	}
	title, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
	return renderText(page.Page{Title: title, Description: "A guide: " + g.About + ".", Data: map[string]any{
		"Content": template.HTML(content.String()), "Markdown": g.Path() + ".md", //nolint:gosec // of our Markdown, without HTML
	}})
}

// home returns the first page of a node for people.
func home() api.Document {
	return api.Document{
		Path: api.PathHome, ContentType: fiber.MIMETextHTMLCharsetUTF8, Header: page.Header(),
		Render: func() ([]byte, error) {
			return renderText(page.Page{
				Title: "DAO governance data", Description: "Governance data of DAOs over HTTP.", Data: map[string]any{"Guides": Guides()},
			})
		},
	}
}

// renderText renders a page of text.
func renderText(shown page.Page) ([]byte, error) {
	parsed, err := page.New(referenceFiles, nil, "reference/text.html")
	if err != nil {
		return nil, err
	}
	return page.Render(parsed, shown)
}
