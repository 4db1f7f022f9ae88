// Package page is the shell of the pages for people: the head, the header with its links
// and the token box, one stylesheet and one script. A page is HTML from the server and
// can be read without the script.
//
// New parses the templates of a page into the shell, Render makes the page of them, and
// Header returns the headers to send with it. Documents are the files that every page
// loads.
package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"strings"

	"github.com/gofiber/fiber/v2"

	"pnyx/api"
)

// Paths of the files that every page loads.
const (
	// PathStyle is the stylesheet. Its colours are CSS variables, light and dark.
	PathStyle = api.PathDocs + "/page.css"
	// PathScript is a module for pages with scripts. It exports token, onToken and request.
	PathScript = api.PathDocs + "/page.js"
	// PathIcon is the icon of the site, and PathFavicon where browsers look for one by themselves.
	PathIcon    = api.PathDocs + "/icon.svg"
	PathFavicon = "/favicon.ico"
)

// policy lets a page load only what this node serves. It allows neither inline scripts nor style attributes.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Header returns the headers of a page, beside the headers of every answer.
func Header() map[string]string {
	return map[string]string{
		fiber.HeaderContentSecurityPolicy: policy,
		fiber.HeaderReferrerPolicy:        "no-referrer",
	}
}

// Page is one page in the shell.
type Page struct {
	// Title is the title of the window, before the name of the site.
	Title string
	// Description says in one sentence what the page shows, for search engines.
	Description string
	// Path is the link of the header that the page belongs to; empty for none.
	Path string
	// Styles and Scripts are paths that the page loads after every page's files. Scripts are modules.
	Styles, Scripts []string
	// Data is what the template "main" gets.
	Data any
}

// Link is a link of the header.
type Link struct {
	// Text is the text of the link, and Path where it leads.
	Text, Path string
}

// Links returns the links of the header.
func (Page) Links() []Link {
	return []Link{
		{"Reference", api.PathDocs},
		{"Explore", api.PathExplore},
		{"llms.txt", api.PathLLMs},
		{"OpenAPI", api.PathOpenAPI},
	}
}

// New parses the templates of a page. They define "main", which is shown inside the main element of the shell.
func New(files fs.FS, funcs template.FuncMap, patterns ...string) (*template.Template, error) {
	shell := template.Must(template.New("page").Funcs(funcs).ParseFS(shellFiles, "files/page.html"))
	parsed, err := shell.ParseFS(files, patterns...)
	if err != nil {
		return nil, fmt.Errorf("parse the templates of a page: %w", err)
	}
	return parsed, nil
}

// Render renders a page with the templates that New returned.
func Render(t *template.Template, p Page) ([]byte, error) {
	var text bytes.Buffer
	if err := t.ExecuteTemplate(&text, "page.html", p); err != nil {
		return nil, fmt.Errorf("render the page %s: %w", p.Title, err)
	}
	return text.Bytes(), nil
}

//go:embed files
var shellFiles embed.FS

// Documents returns the files that every page loads.
func Documents() []api.Document {
	documents := Files(shellFiles, "files", PathStyle, PathScript, PathIcon)
	icon := documents[len(documents)-1]
	icon.Path = PathFavicon
	return append(documents, icon)
}

// Files returns documents of files in a folder. The path of each ends in its file's name.
func Files(files fs.FS, folder string, paths ...string) []api.Document {
	types := map[string]string{"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
	var documents []api.Document
	for _, path := range paths {
		name := path[strings.LastIndexByte(path, '/')+1:]
		documents = append(documents, api.Document{
			Path: path, ContentType: types[name[strings.LastIndexByte(name, '.')+1:]],
			Render: func() ([]byte, error) { return fs.ReadFile(files, folder+"/"+name) },
		})
	}
	return documents
}
