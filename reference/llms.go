package reference

import (
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"pnyx/api"
	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/mcp"
	"pnyx/reference/client"
	"pnyx/reference/openapi"
)

// mimeLinkset is the form of an API catalog (RFC 9264, RFC 9727).
const mimeLinkset = `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"`

// agentsGuide returns /llms.txt: what a language model needs to use the API.
func agentsGuide(node Node) ([]byte, error) {
	type route struct {
		// ID, Path and Summary are the route's. Price is its tier and price, Parameters lists the parameters of the query.
		ID, Path, Summary, Price, Parameters string
	}
	var clients []string
	for _, language := range client.Languages() {
		clients = append(clients, language.Path())
	}
	var shown []route
	for _, r := range routes.All() {
		shown = append(shown, route{
			ID: r.ID, Path: r.Path, Summary: r.Summary, Price: priceLabel(r, node.Prices), Parameters: paramList(r),
		})
	}
	return render("llms.txt", map[string]any{
		"Base": node.base(), "PathOpenAPI": api.PathOpenAPI, "PathPricing": routes.PathPricing, "PathMCP": mcp.Path,
		"Codes": node.codes(), "Guides": Guides(), "Plans": node.plans(), "PayPerRequest": node.Prices.PayPerRequest,
		"Clients": clients, "Routes": shown, "OfStrangers": mcp.OfStrangers,
	})
}

// priceLabel is the tier of a route, and what it costs where payments are taken.
func priceLabel(route routes.Route, prices routes.Prices) string {
	if !route.Paid() {
		return "[free]"
	}
	if !prices.PayPerRequest {
		return fmt.Sprintf("[%s]", route.Tier)
	}
	return fmt.Sprintf("[%s, %s %s]", route.Tier, prices.Of(route), prices.Token)
}

// paramList lists the query parameters of a route, with their allowed values.
func paramList(route routes.Route) string {
	var named []string
	for _, one := range route.Params {
		if one.In == param.InPath {
			continue
		}
		text := one.Name + " (" + one.Allowed()
		if one.Required {
			text += "; required"
		}
		if one.Default != "" {
			text += "; default " + one.Default
		}
		named = append(named, text+")")
	}
	return strings.Join(named, ", ")
}

// catalog returns the API catalog of RFC 9727, without paths with parameters, which the OpenAPI document has.
func catalog(node Node) ([]byte, error) {
	link := func(path, mediaType string) any { return openapi.Object("href", node.base()+path, "type", mediaType) }
	var items, related []any
	for _, route := range routes.All() {
		if !strings.Contains(route.Path, ":") {
			items = append(items, link(route.Path, fiber.MIMEApplicationJSON))
		}
	}
	guide := link(api.PathLLMs, fiber.MIMETextPlain)
	for _, language := range client.Languages() {
		related = append(related, link(language.Path(), mediaType(language)))
	}
	tools := openapi.Object("anchor", node.base()+mcp.Path, "service-doc", []any{guide})
	return []byte(indented(map[string]any{"linkset": []any{openapi.Object(
		"anchor", node.base()+api.PathPrefix,
		"item", items,
		"service-desc", []any{link(api.PathOpenAPI, fiber.MIMEApplicationJSON)},
		"service-doc", []any{link(api.PathDocs, fiber.MIMETextHTML), guide},
		"related", related,
		"service-meta", []any{link(routes.PathPricing, fiber.MIMEApplicationJSON)},
	), tools}}) + "\n"), nil
}
