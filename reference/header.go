package reference

import (
	_ "embed" // headers.json
	"encoding/json"
	"fmt"

	"github.com/gofiber/fiber/v2"

	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/routes"
	"pnyx/reference/openapi"
)

// headersJSON describes the headers of answers, for callers.
//
//go:embed headers.json
var headersJSON []byte

// describeHeaders describes the headers of answers that a client reads. Those that HTTP
// itself gives a meaning, as to caches, are left out.
func describeHeaders() (openapi.Members[*openapi.Header], error) {
	var rows []struct {
		// Name and Description describe the header, Type is its JSON type.
		Name, Description, Type string
		// Example is a value of that type; nil for none.
		Example any
	}
	if err := json.Unmarshal(headersJSON, &rows); err != nil {
		return nil, fmt.Errorf("decode headers.json: %w", err)
	}
	var all openapi.Members[*openapi.Header]
	for _, row := range rows {
		schema := &openapi.Schema{Type: row.Type}
		if row.Type == "integer" {
			schema.Minimum = new(int)
		}
		all.Add(row.Name, &openapi.Header{
			Description: row.Description, Schema: schema, Example: row.Example, XAddition: true,
		})
	}
	return all, nil
}

func headers(names ...string) openapi.Members[*openapi.Header] {
	var all openapi.Members[*openapi.Header]
	for _, name := range names {
		all.Add(name, &openapi.Header{Ref: "#/components/headers/" + name})
	}
	return all
}

// answerHeaders refers to the headers of a route's answers with data that a client acts on:
// each is ten lines of a generated client for every route. The id of the request is in the
// body, too, and the size of a bucket is the plan's.
func answerHeaders(route routes.Route) openapi.Members[*openapi.Header] {
	names := []string{api.HeaderRateLimit}
	if !route.TokenOnly {
		names = append(names, fiber.HeaderETag)
	}
	if route.Media != nil {
		names = append(names, api.HeaderReprDigest, api.HeaderUnencodedDigest)
	}
	if route.Paged() {
		names = append(names, fiber.HeaderLink)
	}
	if route.Paid() {
		names = append(names, x402.HeaderReceipt)
	}
	return headers(names...)
}
