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
)

// registrySchema is the schema of an entry of the MCP Registry.
const registrySchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// exampleURL is the address in documents that need one, where the API's address is not known.
const exampleURL = "https://api.example.org"

// RegistryEntry returns /server.json: the tools for agents as the MCP Registry lists them.
// The publisher of an entry owns the domain that its name begins with.
func RegistryEntry(node Node) ([]byte, error) {
	type header struct {
		// Name and Description describe the header.
		Name        string `json:"name"`
		Description string `json:"description"`
		// IsRequired says that no call succeeds without it, IsSecret that it must not be shown.
		IsRequired bool `json:"isRequired"`
		IsSecret   bool `json:"isSecret"`
	}
	type remote struct {
		// Type is the transport, URL its address, and Headers are what a client may send.
		Type    string   `json:"type"`
		URL     string   `json:"url"`
		Headers []header `json:"headers"`
	}
	base := cmp.Or(node.base(), exampleURL)
	address, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("the public address in %s: %w", api.PathRegistry, err)
	}
	domain := strings.Split(address.Hostname(), ".")
	slices.Reverse(domain)
	entry := struct {
		// Schema is the address of the schema of the entry.
		Schema string `json:"$schema"`
		// Name is the domain of the publisher, backwards, and the name of the server.
		Name string `json:"name"`
		// Title and Description say what the server is, to people.
		Title       string `json:"title"`
		Description string `json:"description"`
		// Version is the version of the API's surface, and WebsiteURL the reference.
		Version    string `json:"version"`
		WebsiteURL string `json:"websiteUrl"`
		// Remotes are the addresses of the server.
		Remotes []remote `json:"remotes"`
	}{
		Schema: registrySchema, Name: strings.Join(domain, ".") + "/pnyx", Title: "Pnyx",
		Description: "DAO governance data: proposals, votes, voters, forum topics, events and signals.",
		Version:     api.SurfaceVersion, WebsiteURL: base + api.PathDocs,
		Remotes: []remote{{Type: "streamable-http", URL: base + mcp.Path, Headers: []header{{
			Name: strings.ToLower(access.HeaderToken), Description: "Partner token, for paid tools; free tools need none.", IsSecret: true,
		}}}},
	}
	text, err := json.MarshalIndent(entry, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", api.PathRegistry, err)
	}
	return append(text, '\n'), nil
}
