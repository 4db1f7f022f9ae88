package reference

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"reflect"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"pnyx/api"
	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/mcp"
	"pnyx/page"
	"pnyx/reference/client"
	"pnyx/reference/openapi"
)

const (
	pathReferenceStyle  = api.PathDocs + "/reference.css"
	pathReferenceScript = api.PathDocs + "/reference.js"
)

//go:embed files
var referenceFiles embed.FS

// reference returns the reference for people, and the files that it loads.
func reference(node Node) []api.Document {
	return append(page.Files(referenceFiles, "files", pathReferenceStyle, pathReferenceScript), api.Document{
		Path: api.PathDocs, ContentType: fiber.MIMETextHTMLCharsetUTF8, Header: page.Header(),
		RenderExamples: func(examples api.Examples) ([]byte, error) { return renderReference(node, examples) },
	})
}

type referenceGroup struct {
	openapi.Tag

	// Routes are in the order of documents.
	Routes []referenceRoute
}

type referenceRoute struct {
	// Route has the id, the title and the path.
	routes.Route

	// Cost says what a request costs and where it counts.
	Cost string
	// Token says that a request needs credentials.
	Token bool
	// Needed are the parameters that a request has to give, and Optional the others.
	Needed, Optional []referenceParam
	// AnswerTitle says what Fields are the fields of.
	AnswerTitle string
	Fields      []referenceField
	// Page is the path of the route's page as Markdown.
	Page string
	// Snippets are requests as code, and Example is an answer.
	Snippets []referenceSnippet
	Example  string
}

type referenceParam struct {
	param.Param

	// ID is unique on the page. Value is the form's, Placeholder what it shows without one, and Example works.
	ID, Value, Placeholder, Example string
	// Values are all values there are; nil for a text.
	Values []string
	// Required and InPath say where a request has to give the parameter.
	Required, InPath bool
}

type referenceField struct {
	// Path is the field's name after the names of the objects that it is in, Type its type in words.
	Path, Type  string
	Description string
}

type referenceSnippet struct{ Language, Title, Text string }

type referenceCode struct {
	api.CodeInfo

	Example string
}

func renderReference(node Node, examples api.Examples) ([]byte, error) {
	parsed, err := page.New(referenceFiles, template.FuncMap{"anchor": anchor, "inline": inlineHTML}, "files/reference.html")
	if err != nil {
		return nil, err
	}
	guide, err := guideText(node, nil)
	if err != nil {
		return nil, err
	}
	schemas := newSchemas()
	var groups []referenceGroup
	for _, route := range routes.All() {
		tag := tagOf(route)
		at := slices.IndexFunc(groups, func(g referenceGroup) bool { return g.Name == tag.Name })
		if at < 0 {
			at, groups = len(groups), append(groups, referenceGroup{Tag: tag})
		}
		described, err := describeForPeople(node, schemas, route, examples)
		if err != nil {
			return nil, err
		}
		groups[at].Routes = append(groups[at].Routes, described)
	}
	var codes []referenceCode
	for _, info := range node.codes() {
		codes = append(codes, referenceCode{info, indented(info.Example.Envelope("4bf92f35-77b3-4da6-a3ce-929d0e0e4736"))})
	}
	return page.Render(parsed, page.Page{
		Title: "API reference", Description: "Governance data of DAOs over HTTP: every route, parameter, field and error, to try.",
		Path: api.PathDocs, Styles: []string{pathReferenceStyle}, Scripts: []string{pathReferenceScript},
		Data: map[string]any{
			"Version": api.SurfaceVersion, "Count": len(routes.All()), "PayPerRequest": node.Prices.PayPerRequest, "Live": examples != api.Examples{},
			"Guide": markdownHTML(string(guide)), "Guides": Guides(), "Groups": groups, "Codes": codes,
			"WebhookTag": webhookTag(), "WebhookHeaders": webhookHeaders(), "Webhooks": webhooks(), "Message": indented(exampleMessage(schemas, webhooks()[0])),
		},
	})
}

func anchor(heading string) string { return strings.ReplaceAll(strings.ToLower(heading), " ", "-") }

func describeForPeople(node Node, schemas *openapi.Schemas, route routes.Route, examples api.Examples) (referenceRoute, error) {
	shown := referenceRoute{
		Route: route, Cost: costOf(route, node.Prices),
		Token: route.Paid() || route.TokenOnly, Page: pathOfPage(route),
	}
	for _, param := range route.Params {
		described := describeInput(route, param, examples)
		if described.Required || param.Sample {
			shown.Needed = append(shown.Needed, described)
		} else {
			shown.Optional = append(shown.Optional, described)
		}
	}
	data := schemas.Of(reflect.TypeOf(route.Returns))
	shown.Fields = fieldsOf(schemas.Components(), data, "", nil)
	shown.AnswerTitle = fmt.Sprintf("Answer: %d fields of data", len(shown.Fields))
	if data.Items != nil {
		shown.AnswerTitle = fmt.Sprintf("Answer: %d fields of each row of data", len(shown.Fields))
	}
	var err error
	shown.Snippets, err = snippets(node, route, examples)
	shown.Example = indented(exampleAnswer(schemas, route))
	return shown, err
}

func describeInput(route routes.Route, one param.Param, examples api.Examples) referenceParam {
	shown := referenceParam{
		Param: one, Example: examples.Of(one), ID: route.ID + "-" + one.Name, InPath: one.In == param.InPath, Required: one.Required || one.In == param.InPath,
	}
	switch {
	case shown.Required || one.Sample:
		shown.Value = shown.Example
	case one.Kind == param.Boolean:
		shown.Values = []string{"true", "false"}
	case one.Default != "":
		shown.Placeholder = one.Default
	default:
		shown.Placeholder = shown.Example
	}
	if one.Kind == param.Enum {
		shown.Values = one.Enum
	}
	return shown
}

// costOf says what a request to a route costs, and which bucket counts it.
func costOf(route routes.Route, prices routes.Prices) string {
	cost := "Free"
	if route.Paid() {
		cost = fmt.Sprintf("Tier `%s`: one answer of a token's month", route.Tier)
	}
	switch {
	case route.TokenOnly:
		cost += ", with a token"
	case route.Paid() && prices.PayPerRequest:
		cost += fmt.Sprintf(", or %s %s", prices.Of(route), prices.Token)
	}
	return fmt.Sprintf("%s. Counts in the `%s` bucket.", cost, route.Bucket())
}

func snippets(node Node, route routes.Route, examples api.Examples) ([]referenceSnippet, error) {
	base := cmp.Or(node.base(), "http://127.0.0.1:8080")
	curl := "curl '" + base + sampleTarget(route, examples) + "'"
	if route.Paid() || route.TokenOnly {
		curl += " \\\n  -H \"x-service-api-token: $TOKEN\""
	}
	all := []referenceSnippet{{"curl", "curl", curl}}
	values := map[string]string{}
	for _, one := range route.Params {
		if one.In == param.InPath || one.Required || one.Sample {
			values[one.Name] = examples.Of(one)
		}
	}
	for _, language := range client.Languages() {
		text, err := client.Snippet(language, base, route, values)
		if err != nil {
			return nil, err
		}
		all = append(all, referenceSnippet{strings.ToLower(string(language)), string(language), strings.TrimSpace(text)})
	}
	name, arguments := mcp.ExampleCall(route.ID, values)
	if name == "" {
		return all, nil // no tool reads the route
	}
	call := openapi.Object(
		"jsonrpc", "2.0", "id", 1, "method", "tools/call", "params", openapi.Object("name", name, "arguments", arguments),
	)
	return append(all, referenceSnippet{"mcp", "MCP", indented(call)}), nil
}

// indented returns a value as JSON for human readers. It panics on a value that does not encode.
func indented(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		panic(err) // every value is a struct, map or list of texts, numbers and JSON
	}
	return strings.TrimSpace(text.String())
}

// fieldsOf lists the fields of a schema, inner ones after their object's. within are the components around it.
func fieldsOf(components openapi.Members[*openapi.Schema], schema *openapi.Schema, path string, within []string) []referenceField {
	object, name := resolve(components, schema)
	if object.Items != nil {
		if path != "" {
			path += "[]"
		}
		return fieldsOf(components, object.Items, path, within)
	}
	if slices.Contains(within, name) {
		return nil
	}
	var all []referenceField
	for _, property := range object.Properties {
		inner := strings.TrimPrefix(path+"."+property.Name, ".")
		all = append(all, referenceField{inner, typeInWords(components, property.Value), property.Value.Description})
		all = append(all, fieldsOf(components, property.Value, inner, append(slices.Clone(within), name))...)
	}
	return all
}

// resolve returns the schema that another refers to, or is if not null, and the component's name; empty in place.
func resolve(components openapi.Members[*openapi.Schema], schema *openapi.Schema) (resolved *openapi.Schema, name string) {
	if len(schema.AnyOf) > 0 {
		schema = schema.AnyOf[0]
	}
	if name = schema.Component(); name == "" {
		return schema, ""
	}
	resolved, _ = components.Get(name)
	return resolved, name
}

func typeInWords(components openapi.Members[*openapi.Schema], schema *openapi.Schema) string {
	resolved, _ := resolve(components, schema)
	null := ""
	kind, plain := resolved.Type.(string)
	if kinds, is := resolved.Type.([]string); is {
		kind, plain = kinds[0], true
	}
	if len(schema.AnyOf) > 0 || reflect.TypeOf(resolved.Type) == reflect.TypeFor[[]string]() {
		null = " or null"
	}
	switch {
	case !plain:
		return "any JSON"
	case kind == "array":
		return "list of " + typeInWords(components, resolved.Items) + null
	case len(resolved.Enum) > 0:
		return "one of " + strings.Join(resolved.Enum, ", ") + null
	case resolved.Format == "decimal":
		return "decimal text" + null
	case resolved.Format == "date-time":
		return "time" + null
	case kind == "string":
		return "text" + null
	}
	return kind + null
}
