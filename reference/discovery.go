package reference

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"pnyx/access"
	"pnyx/api"
	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/mcp"
	"pnyx/reference/openapi"
)

// maxDiscoveryPath bounds a path that is described: the terms fit proxies' 4 KiB of headers.
const maxDiscoveryPath = 256

// discovery is the extension "bazaar" of x402: a paid route as indexes of paid resources list it.
type discovery struct {
	// RouteTemplate is the path with its parameters' names, one entry of an index for all values; empty without any.
	RouteTemplate string `json:"routeTemplate,omitempty"`
	// Info is a request that works, and the format of its answer.
	Info struct {
		Input struct {
			Type   string `json:"type"`
			Method string `json:"method"`
			// QueryParams and PathParams are values of parameters by name.
			QueryParams map[string]any    `json:"queryParams,omitempty"`
			PathParams  map[string]string `json:"pathParams,omitempty"`
		} `json:"input"`
		Output map[string]string `json:"output"`
	} `json:"info"`
	Schema openapi.Members[any] `json:"schema"`
}

// Discovery returns the function that describes requests of paid routes to indexes of paid resources (x402.Terms).
// Parameters in the path come from the request, parameters of the query are the examples of the route table. The
// function returns nil for a long path, so that the header of the terms stays short, and for a part of a file.
func Discovery(publicURL string) func(routeID, path string) any {
	var base string
	if address, err := url.Parse(publicURL); err == nil {
		base = strings.TrimSuffix(address.Path, "/")
	}
	paid := map[string]discovery{}
	for _, route := range routes.All() {
		if route.Paid() && route.Media == nil {
			paid[route.ID] = describeForIndexes(base, route)
		}
	}
	return func(routeID, path string) any {
		described, found := paid[routeID]
		if !found || len(path) > maxDiscoveryPath {
			return nil
		}
		described.Info.Input.PathParams = pathValues(strings.TrimPrefix(described.RouteTemplate, base), path)
		return described
	}
}

// pathValues returns the parameters of a path as they are spelled in it.
func pathValues(template, path string) map[string]string {
	values := map[string]string{}
	parts := strings.Split(path, "/")
	for i, name := range strings.Split(template, "/") {
		if name, is := strings.CutPrefix(name, ":"); is && i < len(parts) {
			values[name] = parts[i]
		}
	}
	return values
}

// describeForIndexes describes a route, except for the parameters in the path.
func describeForIndexes(base string, route routes.Route) discovery {
	var described discovery
	described.Info.Input.Type, described.Info.Input.Method, described.Info.Input.QueryParams = "http", "GET", map[string]any{}
	described.Info.Output = map[string]string{"type": "json"}
	input := &openapi.Schema{Type: "object", Required: []string{"type", "method"}, AdditionalProperties: new(false)}
	input.Properties.Add("type", &openapi.Schema{Type: "string", Enum: []string{"http"}})
	input.Properties.Add("method", &openapi.Schema{Type: "string", Enum: []string{"GET"}})
	query, inPath := &openapi.Schema{Type: "object"}, &openapi.Schema{Type: "object"}
	for _, one := range route.Params {
		schema, into := discoverySchema(one), query
		if one.In == param.InPath {
			into = inPath
			described.RouteTemplate = base + route.Path
		}
		into.Properties.Add(one.Name, schema)
		if one.Required || one.In == param.InPath {
			into.Required = append(into.Required, one.Name)
		}
		if one.In == param.InQuery && (one.Required || one.Sample) {
			described.Info.Input.QueryParams[one.Name] = one.JSON(one.Example)
			if one.Kind == param.EnumList {
				described.Info.Input.QueryParams[one.Name] = one.Example
			}
		}
	}
	if len(query.Properties) > 0 {
		input.Properties.Add("queryParams", query)
	}
	if len(inPath.Properties) > 0 {
		input.Properties.Add("pathParams", inPath)
		input.Required = append(input.Required, "pathParams")
	}
	if len(query.Required) > 0 {
		input.Required = append(input.Required, "queryParams")
	}
	output := &openapi.Schema{Type: "object", Required: []string{"type"}}
	output.Properties.Add("type", &openapi.Schema{Type: "string"})
	described.Schema = openapi.Object(
		"$schema", "https://json-schema.org/draft/2020-12/schema", "type", "object",
		"properties", openapi.Object("input", input, "output", output), "required", []string{"input"},
	)
	return described
}

// discoverySchema returns the schema of a parameter, a list as the text that indexes know.
func discoverySchema(one param.Param) *openapi.Schema {
	if one.Kind == param.EnumList {
		return &openapi.Schema{Type: "string", Description: one.Allowed()}
	}
	return paramSchema(&openapi.Schemas{}, one)
}

const registrySchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// exampleURL is the address in documents that need one, where the API's address is not known.
const exampleURL = "https://api.example.org"

// RegistryEntry returns /server.json, for the MCP Registry. Its publisher owns the domain that its name begins with.
func RegistryEntry(node Node) ([]byte, error) {
	base := cmp.Or(node.base(), exampleURL)
	address, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("the public address in %s: %w", api.PathRegistry, err)
	}
	domain := strings.Split(address.Hostname(), ".")
	slices.Reverse(domain)
	token := openapi.Object(
		"name", strings.ToLower(access.HeaderToken), "description", "Partner token, for paid tools; free tools need none.",
		"isRequired", false, "isSecret", true,
	)
	return []byte(indented(openapi.Object(
		"$schema", registrySchema, "name", strings.Join(domain, ".")+"/pnyx", "title", "Pnyx",
		"description", "DAO governance data: proposals, votes, voters, forum topics, events and signals.",
		"version", api.SurfaceVersion, "websiteUrl", base+api.PathDocs,
		"remotes", []any{openapi.Object("type", "streamable-http", "url", base+mcp.Path, "headers", []any{token})},
	)) + "\n"), nil
}
