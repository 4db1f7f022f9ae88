package reference

import (
	"fmt"
	"net/url"
	"strings"

	"pnyx/api"
	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/governance"
)

// mimeMarkdown is the media type of a page of a route.
const mimeMarkdown = "text/markdown; charset=utf-8"

// routePages returns one page a route: what a language model needs to use it alone.
func routePages(node Node) []api.Document {
	var pages []api.Document
	for _, route := range routes.All() {
		pages = append(pages, api.Document{
			Path: pathOfPage(route), ContentType: mimeMarkdown,
			RenderExamples: func(examples api.Examples) ([]byte, error) { return routePage(node, route, examples) },
		})
	}
	return pages
}

func pathOfPage(route routes.Route) string { return api.PathDocs + "/" + route.ID + ".md" }

func routePage(node Node, route routes.Route, examples api.Examples) ([]byte, error) {
	example, err := governance.JSON(exampleAnswer(newSchemas(), route))
	if err != nil {
		return nil, fmt.Errorf("encode the example of %s: %w", route.ID, err)
	}
	var codes []string
	for _, code := range node.codesOf(route) {
		codes = append(codes, string(code))
	}
	return render("route.md", map[string]any{
		"Route": route, "Token": route.Paid() || route.TokenOnly, "Access": describeAccess(route, node.Prices), "Params": route.Params, "Request": node.base() + sampleTarget(route, examples),
		"Example": string(example), "Codes": strings.Join(codes, ", "), "Guide": api.PathLLMs, "PayPerRequest": node.Prices.PayPerRequest,
	})
}

// sampleTarget is the target of a request for a route, with examples of what it needs.
func sampleTarget(route routes.Route, examples api.Examples) string {
	target := route.Path
	var query []string
	for _, one := range route.Params {
		switch {
		case one.In == param.InPath:
			value := url.PathEscape(examples.Of(one))
			if route.Media != nil && one.Kind == param.Text && one.Name != "daoId" { // the manifest states it
				value = "<" + one.Name + ">"
			}
			target = strings.Replace(target, ":"+one.Name, value, 1)
		case one.Required || one.Sample:
			query = append(query, one.Name+"="+url.QueryEscape(examples.Of(one)))
		}
	}
	if len(query) > 0 {
		target += "?" + strings.Join(query, "&")
	}
	return target
}
