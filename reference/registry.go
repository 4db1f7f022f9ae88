package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"pnyx/access"
	"pnyx/api"
	"pnyx/mcp"
	"pnyx/reference/openapi"
)

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
	text, err := json.MarshalIndent(openapi.Object(
		"$schema", registrySchema, "name", strings.Join(domain, ".")+"/pnyx", "title", "Pnyx",
		"description", "DAO governance data: proposals, votes, voters, forum topics, events and signals.",
		"version", api.SurfaceVersion, "websiteUrl", base+api.PathDocs,
		"remotes", []any{openapi.Object("type", "streamable-http", "url", base+mcp.Path, "headers", []any{token})},
	), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", api.PathRegistry, err)
	}
	return append(text, '\n'), nil
}
