// Package doc makes the documents about the API from its table of routes and error
// codes: what a node serves (Documents: the OpenAPI description, the reference for
// people, llms.txt, the API catalog) and what `make docs` writes to the repository
// (OpenAPI, Decisions, CachingTable).
//
// Package api does not know this package: a command hands Documents to api.New.
package doc

import (
	"bytes"
	"embed"
	"fmt"
	"text/template"

	"github.com/gofiber/fiber/v2"

	"pnyx/api"
	"pnyx/ratelimit"
)

// Documents returns everything there is to read about the API, with what routes cost
// at these prices. Each document is rendered when it is requested first.
func Documents(prices api.Prices) []api.Document {
	return append([]api.Document{
		{
			Path: api.PathOpenAPI, ContentType: fiber.MIMEApplicationJSON,
			Render: func() ([]byte, error) { return OpenAPI(prices) },
		},
		{
			Path: api.PathLLMs, ContentType: fiber.MIMETextPlainCharsetUTF8,
			Render: func() ([]byte, error) { return agentsGuide(prices) },
		},
		{Path: api.PathCatalog, ContentType: mimeLinkset, Render: catalog},
	}, reference()...)
}

// Paths returns the paths of all documents.
func Paths() []string {
	var paths []string
	for _, document := range Documents(api.Prices{}) {
		paths = append(paths, document.Path)
	}
	return paths
}

// PlanTable returns the limits of every plan, as Markdown.
func PlanTable() ([]byte, error) { return render("plans.md", ratelimit.DescribePlans()) }

// templates are the texts of the documents, with the tables to be filled in.
//
//go:embed templates
var templates embed.FS

// render fills in a template.
func render(name string, data any) ([]byte, error) {
	parsed, err := template.ParseFS(templates, "templates/"+name)
	if err != nil {
		return nil, fmt.Errorf("parse template %s: %w", name, err)
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, data); err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return text.Bytes(), nil
}
