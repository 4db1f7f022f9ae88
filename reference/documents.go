// Package reference makes the documents about the API from its table of routes and error
// codes: what a node serves (Documents: the OpenAPI description, the reference for
// people, llms.txt, the API catalog) and what `make docs` writes to the repository
// (OpenAPI, CachingTable, PlanTable).
//
// Package api does not know this package: a command hands Documents to api.New.
package reference

import (
	"embed"
	"slices"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"

	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/api/routes"
	"pnyx/page"
	"pnyx/ratelimit"
	"pnyx/reference/client"
)

// Node is what the documents say of the node that serves them.
type Node struct {
	Prices routes.Prices
	// PublicURL is the address that callers see; empty for the one that a document was asked for at.
	PublicURL string
}

// base is what paths are put after to be addresses.
func (n Node) base() string { return strings.TrimSuffix(n.PublicURL, "/") }

// Documents returns everything there is to read about the API, each rendered when first requested.
func Documents(node Node) []api.Document {
	openAPI := sync.OnceValues(func() ([]byte, error) { return compactOpenAPI(node) })
	documents := []api.Document{
		{Path: api.PathOpenAPI, ContentType: fiber.MIMEApplicationJSON, Render: openAPI},
		{Path: api.PathOpenAPIAlias, ContentType: fiber.MIMEApplicationJSON, Render: openAPI},
		{
			Path: api.PathLLMs, ContentType: fiber.MIMETextPlainCharsetUTF8,
			Render: func() ([]byte, error) { return agentsGuide(node) },
		},
		{
			Path: api.PathCatalog, ContentType: mimeLinkset,
			Render: func() ([]byte, error) { return catalog(node) },
		},
		{
			Path: api.PathRegistry, ContentType: fiber.MIMEApplicationJSON,
			Render: func() ([]byte, error) { return RegistryEntry(node) },
		},
		{Path: api.PathRobots, ContentType: fiber.MIMETextPlainCharsetUTF8, Render: robots},
	}
	return slices.Concat(documents, []api.Document{home()}, guides(), routePages(node), clients(node), page.Documents(), reference(node))
}

// Paths returns the paths of documents that all callers share: all but the first page, which only browsers get.
func Paths() []string {
	var paths []string
	for _, document := range Documents(Node{}) {
		if document.Path != api.PathHome {
			paths = append(paths, document.Path)
		}
	}
	return paths
}

func (n Node) codes() []api.CodeInfo { return api.Codes(n.Prices.PayPerRequest) }

func (n Node) codesOf(route routes.Route) []apierror.Code {
	return slices.DeleteFunc(route.Codes(), func(code apierror.Code) bool { return code.OfPayments() && !n.Prices.PayPerRequest })
}

// plans are the plans of tokens and, where payments are taken, of payers.
func (n Node) plans() []ratelimit.PlanDescription {
	return slices.DeleteFunc(ratelimit.DescribePlans(), func(plan ratelimit.PlanDescription) bool {
		return plan.Name == string(ratelimit.PayPerRequest) && !n.Prices.PayPerRequest
	})
}

// guideText returns what holds for all routes, as Markdown; with a table of the given errors.
func guideText(node Node, codes []api.CodeInfo) ([]byte, error) {
	plans, err := render("plans.md", node.plans())
	if err != nil {
		return nil, err
	}
	return render("guide.md", map[string]any{
		"Codes": codes, "Plans": string(plans), "PayPerRequest": node.Prices.PayPerRequest,
	})
}

// PlanTable returns the limits of every plan, as Markdown.
func PlanTable() ([]byte, error) { return render("plans.md", ratelimit.DescribePlans()) }

// templates are the texts of the documents, with the tables to be filled in.
//
//go:embed templates
var templates embed.FS

func render(name string, data any) ([]byte, error) { return client.Render(templates, nil, name, data) }

// robots returns /robots.txt: documents and pages for people are for crawlers, data is not.
func robots() ([]byte, error) {
	return []byte("User-agent: *\nAllow: " + api.PathDocs + "\nAllow: " + api.PathExplore + "\nAllow: " + api.PathLLMs + "\nDisallow: " + api.PathPrefix + "/\n"), nil
}

// Client returns the client of the API in a language, in one file, as a node serves it.
func Client(node Node, language client.Language) ([]byte, error) {
	document, err := describeAPI(node)
	if err != nil {
		return nil, err
	}
	return client.Source(language, document)
}

func clients(node Node) []api.Document {
	var documents []api.Document
	for _, language := range client.Languages() {
		documents = append(documents, api.Document{
			Path: language.Path(), ContentType: mediaType(language) + "; charset=utf-8",
			Render: func() ([]byte, error) { return Client(node, language) },
		})
	}
	return documents
}

// mediaType returns the media type of source code. Deno imports a client from its address if the type is
// TypeScript's.
func mediaType(language client.Language) string {
	return map[client.Language]string{
		client.TypeScript: "application/typescript", client.Python: "text/x-python", client.Go: "text/x-go",
	}[language]
}
