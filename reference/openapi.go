package reference

import (
	"cmp"
	_ "embed" // headers.json
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/api/param"
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
	return []byte(indented(document) + "\n"), nil
}

// compactOpenAPI returns OpenAPI without white space.
func compactOpenAPI(node Node) ([]byte, error) {
	document, err := describeAPI(node)
	if err != nil {
		return nil, err
	}
	return governance.JSON(document)
}

func describeAPI(node Node) (*openapi.Document, error) {
	schemas := newSchemas()
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
	for _, route := range routes.All() {
		if tag := tagOf(route); !slices.Contains(document.Tags, tag) {
			document.Tags = append(document.Tags, tag)
		}
		document.Paths.Add(openapi.PathTemplate(route.Path), &openapi.PathItem{Get: describeRoute(schemas, route, node)})
	}
	document.Tags = append(document.Tags, webhookTag())
	document.Webhooks = describeWebhooks(schemas)
	document.Components = openapi.Components{
		Schemas:         metaSchemas(schemas.Components()),
		Responses:       openapi.Members[*openapi.Response]{{Name: errorName, Value: errorResponse(node)}},
		Headers:         describeHeaders(),
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

// security lists a route's alternative credentials. A payment answers a 402, and is none itself.
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

// links describes requests that can follow an answer: for the next page, and for routes below.
func links(route routes.Route) (all openapi.Members[any]) {
	same := pathParameters(route)
	if route.Paged() {
		next := slices.Clone(same)
		next.Add("cursor", "$response.body#/meta/page/nextCursor")
		all.Add("next", openapi.Object(
			"operationId", route.ID, "parameters", next,
			"description", "The next page, while `meta.page.hasMore` is true. All other parameters stay as they are.",
		))
	}
	if len(same) == 0 {
		return all
	}
	for _, below := range routes.All() {
		if path.Dir(below.Path) == route.Path {
			all.Add(path.Base(below.Path), openapi.Object("operationId", below.ID, "parameters", same, "description", below.Summary))
		}
	}
	return all
}

func pathParameters(route routes.Route) openapi.Members[string] {
	var all openapi.Members[string]
	for _, one := range route.Params {
		if one.In == param.InPath {
			all.Add(one.Name, "$request.path."+one.Name)
		}
	}
	return all
}

// headersJSON describes the headers of answers, for callers.
//
//go:embed headers.json
var headersJSON []byte

// describeHeaders describes the headers of answers that a client reads, but for the headers of HTTP itself.
func describeHeaders() (all openapi.Members[*openapi.Header]) {
	var rows []struct {
		// Name and Description describe the header, Type is its JSON type.
		Name, Description, Type string
		// Example is a value of that type; nil for none.
		Example any
	}
	decode(headersJSON, &rows)
	for _, row := range rows {
		schema := &openapi.Schema{Type: row.Type}
		if row.Type == "integer" {
			schema.Minimum = new(int)
		}
		all.Add(row.Name, &openapi.Header{
			Description: row.Description, Schema: schema, Example: row.Example, XAddition: true,
		})
	}
	return all
}

func headers(names ...string) (all openapi.Members[*openapi.Header]) {
	for _, name := range names {
		all.Add(name, &openapi.Header{Ref: "#/components/headers/" + name})
	}
	return all
}

// answerHeaders refers to the headers of data that a client acts on: each is ten lines of a generated client for
// every route.
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

// errorName is the component name of the response that describes every error.
const errorName = "Error"

// errorResponse describes the errors as one response: generated clients get one type of error. METHOD_NOT_ALLOWED is
// left out: OpenAPI describes methods that exist.
func errorResponse(node Node) *openapi.Response {
	response := &openapi.Response{
		Description: "An answer that is not data.",
		Headers:     headers(fiber.HeaderRetryAfter, x402.HeaderRequired),
		Content: openapi.Members[*openapi.MediaType]{{
			Name: fiber.MIMEApplicationJSON, Value: &openapi.MediaType{Schema: openapi.RefTo("ErrorEnvelope")},
		}},
	}
	for _, info := range node.codes() {
		if info.Code == apierror.CodeMethodNotAllowed {
			continue
		}
		response.Description += fmt.Sprintf(" %d `%s`: %s %s", info.Status, info.Code, info.Description, info.Fix)
		response.Content[0].Value.Examples.Add(string(info.Code), openapi.Object(
			"summary", info.Description, "value", info.Example.Envelope("4bf92f35-77b3-4da6-a3ce-929d0e0e4736"),
		))
	}
	return response
}

func describeErrors(route routes.Route, node Node) string {
	var codes []string
	for _, code := range node.codesOf(route) {
		codes = append(codes, fmt.Sprintf("%d `%s`", api.InfoOf(code, true).Status, code))
	}
	return "Errors: " + strings.Join(codes, ", ") + "."
}
