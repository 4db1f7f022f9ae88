package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"pnyx/api/doc/openapi"
)

// mimeLinkset is the form of an API catalog (RFC 9264, RFC 9727).
const mimeLinkset = `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"`

// agentsGuide is /llms.txt: all that a program which reads English needs.
func agentsGuide(prices Prices) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, `# Pnyx

> Read-only HTTP API over the governance of DAOs: proposals, votes, voters, forum topics, events, signals. JSON, GET only.

The full contract is the OpenAPI 3.1 document at %s. Prices, live and free: GET %s.

`, pathOpenAPI, pathPricing)
	text.WriteString(agentsText)
	text.WriteString("\n## The cheapest way to each answer\n\n")
	for _, route := range Routes() {
		fmt.Fprintf(&text, "- %s GET %s: %s", agentPrice(route, prices), route.Path, route.Summary)
		if names := routeParams(route); names != "" {
			fmt.Fprintf(&text, " Parameters: %s.", names)
		}
		text.WriteString("\n")
	}
	text.WriteString("\n## Errors\n\n{\"error\": {\"code\", \"message\", \"details\"}, \"meta\": {\"requestId\"}}\n\n")
	for _, info := range Codes() {
		fmt.Fprintf(&text, "- %d %s: %s %s\n", info.Status, info.Code, info.Description, info.Fix)
	}
	return text.Bytes()
}

const agentsText = `## How to authenticate

- Free routes: nothing.
- Paid routes with a partner token: header x-service-api-token.
- Paid routes without one: x402 version 2. Ask; the 402 carries the terms in PAYMENT-REQUIRED; repeat the request with PAYMENT-SIGNATURE; the receipt comes in PAYMENT-RESPONSE.
- Wrong parameters are refused with 400 before anything is charged.

## How to page

Follow meta.page.nextCursor (as cursor, other parameters unchanged) while meta.page.hasMore is true, or the Link header with rel="next". Ask for the largest limit you need: a page costs one request whatever its size.

## How to read

- Counts and voting power are decimal strings. Never read them into floats.
- Times are ISO 8601 UTC with milliseconds. In parameters a date alone is midnight UTC, and "to" is exclusive.
- meta.dataAsOf is how fresh the data is; meta.readiness.status "ready" means that it is all there.
- Repeat requests with If-None-Match: 304 costs no quota.
- Keys (p1_..., t1_...) come from lists and never change. Do not make them up.
`

func agentPrice(route Route, prices Prices) string {
	if !route.Paid() {
		return "[free]"
	}
	return fmt.Sprintf("[%s, %s %s]", route.Tier, prices.Of(route), prices.Token)
}

// routeParams lists the parameters in the query of a route, each with what it may
// be.
func routeParams(route Route) string {
	var named []string
	for _, param := range route.Params {
		if param.In == InPath {
			continue
		}
		text := param.Name + " (" + param.allowed()
		if param.Required {
			text += "; required"
		}
		if param.Default != "" {
			text += "; default " + param.Default
		}
		named = append(named, text+")")
	}
	return strings.Join(named, ", ")
}

// catalog is the API catalog of RFC 9727: where the API is, and what describes it.
// A path with a parameter in it is no address, and is left to the description.
func catalog() ([]byte, error) {
	type link struct {
		Href string `json:"href"`
		Type string `json:"type,omitempty"`
	}
	var items []link
	for _, route := range Routes() {
		if !strings.Contains(route.Path, ":") {
			items = append(items, link{Href: route.Path, Type: fiber.MIMEApplicationJSON})
		}
	}
	text, err := json.MarshalIndent(map[string]any{"linkset": []any{openapi.Members[any]{
		{Name: "anchor", Value: pathSurface},
		{Name: "item", Value: items},
		{Name: "service-desc", Value: []link{{Href: pathOpenAPI, Type: fiber.MIMEApplicationJSON}}},
		{Name: "service-doc", Value: []link{{Href: pathDocs, Type: fiber.MIMETextHTML}, {Href: pathAgents, Type: fiber.MIMETextPlain}}},
		{Name: "service-meta", Value: []link{{Href: pathPricing, Type: fiber.MIMEApplicationJSON}}},
	}}}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the catalog: %w", err)
	}
	return append(text, '\n'), nil
}
