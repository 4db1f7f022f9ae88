package reference

import (
	"pnyx/api/routes"
	"pnyx/reference/openapi"
)

// Schemas returns the schemas of all answers.
func Schemas() *openapi.Schemas {
	schemas := newSchemas()
	for _, route := range routes.All() {
		envelopeSchema(schemas, route)
	}
	return schemas
}

// MarkdownHTML returns Markdown as HTML.
func MarkdownHTML(text string) string { return string(markdownHTML(text)) }
