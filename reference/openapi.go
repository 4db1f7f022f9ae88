package reference

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"pnyx/access"
	"pnyx/api"
	"pnyx/api/routes"
	"pnyx/governance"
	"pnyx/reference/openapi"
)

// OpenAPI returns the OpenAPI document of the API as a node describes it.
func OpenAPI(node Node) ([]byte, error) {
	document, err := describeAPI(node)
	if err != nil {
		return nil, err
	}
	text, err := indented(document)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	return []byte(text + "\n"), nil
}

// compactOpenAPI returns OpenAPI without white space.
func compactOpenAPI(node Node) ([]byte, error) {
	text, err := OpenAPI(node)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, fmt.Errorf("compact the OpenAPI document: %w", err)
	}
	return compact.Bytes(), nil
}

// describeAPI builds the document from the tables of routes and error codes.
func describeAPI(node Node) (*openapi.Document, error) {
	schemas, err := newSchemas()
	if err != nil {
		return nil, err
	}
	guide, err := guideText(node, node.codes())
	if err != nil {
		return nil, err
	}
	document := &openapi.Document{
		OpenAPI: openapi.Version,
		Info: openapi.Info{
			Title: "Pnyx", Version: api.SurfaceVersion,
			Summary:     "Governance data of DAOs: proposals, votes, voters, forum topics, events and signals.",
			Description: string(guide),
			License:     openapi.Object("name", "Apache 2.0", "identifier", "Apache-2.0"),
		},
		Servers: []openapi.Server{{URL: cmp.Or(node.base(), "/"), Description: "Where this document is served."}},
	}
	addEnvelopes(schemas)
	for _, route := range routes.All() {
		if tag := tagOf(route); !slices.Contains(document.Tags, tag) {
			document.Tags = append(document.Tags, tag)
		}
		document.Paths.Add(openapi.PathTemplate(route.Path), &openapi.PathItem{Get: describeRoute(schemas, route, node)})
	}
	document.Tags = append(document.Tags, webhookTag())
	document.Webhooks = describeWebhooks(schemas)
	headers, err := describeHeaders()
	if err != nil {
		return nil, err
	}
	document.Components = openapi.Components{
		Schemas:         metaSchemas(schemas.Components()),
		Responses:       openapi.Members[*openapi.Response]{{Name: errorName, Value: errorResponse(node)}},
		Headers:         headers,
		SecuritySchemes: securitySchemes(),
	}
	return document, nil
}

// tagOf returns the tag that groups a route with others: the first part of its id.
func tagOf(route routes.Route) openapi.Tag {
	group, _, _ := strings.Cut(route.ID, ".")
	tag, known := map[string]openapi.Tag{
		"meta":         {Name: "Meta", Description: "Prices, and how fresh and complete the data is."},
		"daos":         {Name: "DAOs", Description: "What they decided, and who voted."},
		"proposals":    {Name: "Proposals", Description: "Their texts, their votes, and the evidence behind them."},
		"forum-topics": {Name: "Forum topics", Description: "What is talked about before it is voted on."},
		"events":       {Name: "Events", Description: "What happened in a window of time."},
		"signals":      {Name: "Signals", Description: "What deserves attention."},
		"voters":       {Name: "Voters", Description: "Who voted for what, over all DAOs."},
	}[group]
	if !known {
		tag.Name = group
	}
	return tag
}

// describeRoute describes GET on a route.
func describeRoute(schemas *openapi.Schemas, route routes.Route, node Node) *openapi.Operation {
	prices := node.Prices
	operation := &openapi.Operation{
		OperationID: route.ID, Tags: []string{tagOf(route).Name}, Summary: route.Title,
		Description: strings.Join([]string{route.Summary, describeAccess(route, prices), describeErrors(route, node)}, " "),
		Security:    security(route, prices),
		XTier:       string(route.Tier), XBucket: string(route.Bucket()), XAddition: route.Addition,
	}
	if prices.PayPerRequest {
		operation.XPrice = openapi.Object("amount", prices.Of(route), "token", prices.Token, "network", prices.Network)
	}
	if route.Paid() && prices.PayPerRequest {
		operation.XPaymentInfo = openapi.Object("protocols", []string{"x402"}, "pricingMode", "fixed", "price", prices.Of(route))
	}
	for _, param := range route.Params {
		operation.Parameters = append(operation.Parameters, describeParam(schemas, param))
	}
	operation.Responses.Add("200", &openapi.Response{
		Description: route.Summary, Headers: answerHeaders(route), Links: links(route), Content: answerContent(schemas, route),
	})
	if route.Media != nil {
		operation.Responses.Add("206", &openapi.Response{
			Description: "The bytes that Range selects, never compressed. What is left of a file is free for an hour for the token that has paid for it.",
			Headers:     append(answerHeaders(route), headers(fiber.HeaderContentRange)...), Content: answerContent(schemas, route),
		})
	}
	operation.Responses.Add("default", &openapi.Response{Ref: "#/components/responses/" + errorName})
	return operation
}

// answerContent describes the body of an answer with data.
func answerContent(schemas *openapi.Schemas, route routes.Route) (content openapi.Members[*openapi.MediaType]) {
	if route.Media == nil {
		content.Add(fiber.MIMEApplicationJSON, &openapi.MediaType{
			Schema: envelopeSchema(schemas, route), Example: exampleAnswer(schemas, route),
		})
		if route.Stream {
			content.Add(api.MIMEEventStream, &openapi.MediaType{Schema: &openapi.Schema{
				Type: "string", Description: "Events without end. The data of each is the member `data` of a page, its `id` the cursor after it, " +
					"for `Last-Event-ID`; an event `failure` has an error, and is the last one. Each page counts as a request.",
			}})
		}
		return content
	}
	row := schemas.Of(reflect.TypeOf(route.Returns)).Component()
	for _, media := range route.Media {
		mime, _, _ := strings.Cut(media, ";")
		content.Add(mime, &openapi.MediaType{Schema: &openapi.Schema{
			Type: "string", Description: fmt.Sprintf("One `%s` a row.", row),
		}})
	}
	return content
}

// describeAccess says who may read a route, and which bucket counts its requests.
func describeAccess(route routes.Route, prices routes.Prices) string {
	text := "Free: no credentials are needed."
	if route.TokenOnly {
		text = "Free: about the partner token that asks, which is needed."
	}
	if route.Paid() {
		text = fmt.Sprintf("Paid, tier `%s`: a partner token with the scope `v2:paid:%s`", route.Tier, route.Tier)
		if prices.PayPerRequest {
			text += fmt.Sprintf(", or %s %s a request", prices.Of(route), prices.Token)
		}
		text += "."
	}
	return text + fmt.Sprintf(" Requests count in the `%s` bucket.", route.Bucket())
}

// security lists the alternative credentials of a route; none for a free one. A payment
// answers the 402 of a request without credentials, and is no credential itself.
func security(route routes.Route, prices routes.Prices) []map[string][]string {
	switch {
	case route.Paid() && prices.PayPerRequest:
		return []map[string][]string{{"token": {}}, {}}
	case route.Paid() || route.TokenOnly:
		return []map[string][]string{{"token": {}}}
	}
	return []map[string][]string{}
}

func securitySchemes() openapi.Members[any] {
	return openapi.Object("token", openapi.Object(
		"type", "apiKey", "in", "header", "name", strings.ToLower(access.HeaderToken),
		"description", "A partner token, as the operator issued it. Scopes: `v2:paid:standard` opens standard routes, "+
			"`v2:paid:plus` standard and plus routes, `v2:paid:*` everything.",
	))
}

func exampleAnswer(schemas *openapi.Schemas, route routes.Route) any {
	if route.Returns == nil {
		return nil
	}
	if route.Media != nil {
		return exampleRow(schemas, reflect.TypeOf(route.Returns))
	}
	about := openapi.Members[any]{}
	described, _ := schemas.Example(reflect.TypeFor[api.Meta]()).(openapi.Members[any])
	for _, member := range described {
		if member.Name != "page" || route.Paged() {
			about = append(about, member)
		}
	}
	return openapi.Object("data", schemas.Example(reflect.TypeOf(route.Returns)), "meta", about)
}

// exampleRow returns a row of a file: of rows of several kinds, a ballot.
func exampleRow(schemas *openapi.Schemas, row reflect.Type) any {
	example := schemas.Example(row)
	members, is := example.(openapi.Members[any])
	if !is || row != reflect.TypeFor[governance.DAOExportRow]() {
		return example
	}
	shown := openapi.Members[any]{}
	for _, member := range members {
		if slices.Contains([]string{"kind", "key", string(governance.BallotRows)}, member.Name) {
			shown = append(shown, member)
		}
	}
	return shown
}
