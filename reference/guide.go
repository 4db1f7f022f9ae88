package reference

import (
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"

	"pnyx/api"
	"pnyx/docs"
	"pnyx/page"
)

// Guide is a guide that a node serves: at Path as a page, at Path and ".md" as Markdown.
type Guide struct {
	// Name is its name, and About says in a few words what it is about.
	Name, About string
	// sections are the titles of the sections of the partners' guide that it consists of; none for a file.
	sections []string
}

// wholeGuide is the guide whose sections are guides, too.
const wholeGuide = "partners"

// Guides lists the guides.
func Guides() []Guide {
	return []Guide{
		{Name: wholeGuide, About: "from a token to a mirror: limits, changes, exports, webhooks, clients, tools"},
		{Name: "changes", About: "what was published since, and a mirror", sections: []string{"Changes, and a mirror"}},
		{Name: "export", About: "a whole DAO, and all ballots of a vote", sections: []string{"A whole DAO", "All ballots of a vote"}},
		{Name: "webhooks", About: "events and signals as messages", sections: []string{"Webhooks"}},
		{Name: "rules", About: "how events and signals are worked out"},
		{Name: "analysts", About: "questions in SQL: how to ask, limits, settings, other programs"},
		{Name: "schema", About: "the views for SQL"},
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

// text returns the guide as Markdown, with links to what is served; others become their texts.
func (g Guide) text(extension string) (string, error) {
	name, within := g.Name, ""
	if len(g.sections) > 0 {
		name, within = wholeGuide, Guide{Name: wholeGuide}.Path()+extension
	}
	file, err := docs.Guides.ReadFile(name + ".md")
	if err != nil {
		return "", fmt.Errorf("read the guide %s: %w", g.Name, err)
	}
	text, err := g.cut(string(file))
	if err != nil {
		return "", err
	}
	paths, fenced := guideLinks(extension), false
	lines := strings.Split(markdownComment.ReplaceAllString(text, ""), "\n")
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
			case part[2] == "":
				return "[" + part[1] + "](" + within + part[3] + ")"
			case served:
				return "[" + part[1] + "](" + path + part[3] + ")"
			case strings.HasPrefix(part[2], "https://"):
				return link
			}
			return part[1]
		})
	}
	return strings.Join(lines, "\n"), nil
}

// cut returns the sections of a guide, each as a text with a title, or the text if it has none.
func (g Guide) cut(text string) (string, error) {
	var all []string
	for _, title := range g.sections {
		_, rest, found := strings.Cut(text, "\n## "+title+"\n")
		if !found {
			return "", fmt.Errorf("the guide %s has no section %q", wholeGuide, title)
		}
		section, _, _ := strings.Cut(rest, "\n## ")
		mark := "##"
		if len(all) == 0 {
			mark = "#"
		}
		all = append(all, mark+" "+title+"\n"+section)
	}
	if len(all) == 0 {
		return text, nil
	}
	return strings.Join(all, "\n"), nil
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

func (g Guide) page() ([]byte, error) {
	text, err := g.text("")
	if err != nil {
		return nil, err
	}
	title, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
	return renderText(page.Page{Title: title, Description: "A guide: " + g.About + ".", Data: map[string]any{
		"Content": markdownHTML(text, parser.WithAutoHeadingID()), "Markdown": g.Path() + ".md",
	}})
}

// emptyHeader is a cell of Markdown's first row without text: no header of anything.
var emptyHeader = regexp.MustCompile(`<th([^>]*)></th>`)

// scrollTables lets the tables of a page scroll, so that a narrow window splits no word of them.
func scrollTables(page string) string {
	page = strings.ReplaceAll(emptyHeader.ReplaceAllString(page, "<td$1></td>"), "</table>", "</table></div>")
	parts := strings.Split(page, "<table>")
	for i := range parts[1:] {
		parts[i] += fmt.Sprintf(`<div class="scroll" tabindex="0" role="region" aria-label="Table %d"><table>`, i+1)
	}
	return strings.Join(parts, "")
}

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

func renderText(shown page.Page) ([]byte, error) {
	parsed, err := page.New(referenceFiles, nil, "files/text.html")
	if err != nil {
		return nil, err
	}
	return page.Render(parsed, shown)
}

// converter returns the converter of Markdown to HTML, with options of the parser. HTML in a text is a text.
func converter(options ...parser.Option) goldmark.Markdown {
	isHTML := func(p util.PrioritizedValue) bool {
		return p.Value == parser.NewRawHTMLParser() || p.Value == parser.NewHTMLBlockParser()
	}
	options = append(options,
		parser.WithBlockParsers(slices.DeleteFunc(parser.DefaultBlockParsers(), isHTML)...),
		parser.WithInlineParsers(slices.DeleteFunc(parser.DefaultInlineParsers(), isHTML)...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(options...)),
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))), // pages allow no style
	)
}

// markdownHTML returns a text of ours as HTML. Wide tables scroll.
func markdownHTML(text string, options ...parser.Option) template.HTML {
	var page strings.Builder
	if err := converter(options...).Convert([]byte(text), &page); err != nil {
		panic(err) // a Builder takes everything
	}
	return template.HTML(scrollTables(page.String())) //nolint:gosec // of our Markdown, without HTML
}

// inlineHTML returns one paragraph of ours as HTML, without a paragraph around it.
func inlineHTML(line string) template.HTML {
	text := strings.TrimPrefix(strings.TrimSpace(string(markdownHTML(line))), "<p>")
	return template.HTML(strings.TrimSuffix(text, "</p>")) //nolint:gosec // of markdownHTML
}
