package client

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/reference/openapi"
)

// model is what the templates of the clients are filled in with.
type model struct {
	// Address is where the node serves the client; empty where its base is not known.
	Address string
	Version string
	// Aliases are texts of one form, Enums sets of texts, Objects parts of answers, and Calls methods.
	Aliases []alias
	Enums   []enum
	Objects []object
	Calls   []call
	// Buckets are the limiters that count the requests of calls.
	Buckets []string
}

type alias struct{ Name, Doc string }

type enum struct {
	Name, Doc string
	Values    []string
}

type object struct {
	Name, Doc string
	Fields    []field
}

// field is a member of an answer, or a parameter of a request.
type field struct {
	// Name is that in the language, JSON that in requests and answers.
	Name, JSON, Type, Doc string
	// Required says that it may not be absent.
	Required bool
}

// call is a method that reads a route.
type call struct {
	// Name is the method's name. Params names the type of its query parameters; empty for none.
	Name, Params string
	// Doc is what the answer is, Path and Tier are the route's, Bucket is the limiter of its requests.
	Doc, Path, Tier, Bucket string
	Args, Query             []field
	// Media lists the media types of a file, joined by "or"; empty for JSON in an envelope.
	Media string
	// Type is the type of the data, or of one row where the answer is a page; empty for a file.
	Type string
	// MaxLimit is the largest number of rows in a page; 0 for a route without pages.
	MaxLimit int
}

// Required reports whether a parameter in the query has to be given.
func (c call) Required() bool {
	return slices.ContainsFunc(c.Query, func(p field) bool { return p.Required })
}

// collector finds out what a client consists of.
type collector struct {
	dialect

	components openapi.Members[*openapi.Schema]
	used       map[string]bool
	model      model
}

// newModel returns the model of a client, with the types of answers, parameters and errors.
func newModel(language Language, document *openapi.Document) model {
	c := collector{dialect: dialectOf(language), components: document.Components.Schemas, used: map[string]bool{}}
	c.model.Version = document.Info.Version
	if base := document.Servers[0].URL; strings.HasPrefix(base, "http") {
		c.model.Address = base + language.Path()
	}
	for _, name := range []string{"Meta", "ListMeta", "ErrorCode", "DAOExportRow"} {
		c.use(openapi.RefTo(name))
	}
	for _, route := range routes.All() {
		c.addCall(route, dataOf(document, route))
	}
	for _, component := range c.components {
		if c.used[component.Name] {
			c.addType(component.Name, component.Value)
		}
	}
	return c.model
}

// dataOf returns the schema of what a route answers with; nil for a file.
func dataOf(document *openapi.Document, route routes.Route) *openapi.Schema {
	item, _ := document.Paths.Get(openapi.PathTemplate(route.Path))
	response, _ := item.Get.Responses.Get("200")
	if route.Media != nil {
		return nil
	}
	data, _ := response.Content[0].Value.Schema.Properties.Get("data")
	return data
}

// use notes the components that a schema needs.
func (c *collector) use(schema *openapi.Schema) {
	if schema == nil {
		return
	}
	if name := schema.Component(); name != "" && !c.used[name] {
		c.used[name] = true
		component, _ := c.components.Get(name)
		c.use(component)
	}
	c.use(schema.Items)
	for _, one := range schema.AnyOf {
		c.use(one)
	}
	for _, property := range schema.Properties {
		c.use(property.Value)
	}
}

func (c *collector) addType(name string, schema *openapi.Schema) {
	switch {
	case len(schema.Enum) > 0:
		c.model.Enums = append(c.model.Enums, enum{name, schema.Description, schema.Enum})
	case schema.Type == "object":
		c.model.Objects = append(c.model.Objects, c.objectOf(name, schema))
	default:
		c.model.Aliases = append(c.model.Aliases, alias{name, schema.Description})
	}
}

func (c *collector) objectOf(name string, schema *openapi.Schema) object {
	o := object{Name: name, Doc: schema.Description}
	for _, property := range schema.Properties {
		o.Fields = append(o.Fields, field{
			Name: c.field(property.Name), JSON: property.Name, Doc: property.Value.Description,
			Type:     c.typeOf(property.Value, c.components),
			Required: slices.Contains(schema.Required, property.Name),
		})
	}
	return o
}

func (c *collector) addCall(route routes.Route, data *openapi.Schema) {
	c.use(data)
	words := methodWords(route)
	one := call{
		Name: c.method(words), Doc: route.Summary, Path: route.Path, Tier: string(route.Tier),
		Bucket: string(route.Bucket()), Media: strings.Join(route.Media, " or "),
	}
	for _, given := range route.Params {
		p := field{
			Name: c.parameter(given.Name), JSON: given.Name, Type: c.paramType(given), Required: given.Required,
			Doc: given.Description,
		}
		switch {
		case given.In == param.InPath:
			one.Args = append(one.Args, p)
			continue
		case given.Name == "limit" && route.Paged():
			one.MaxLimit = given.Max
			p.Doc += " Default: " + strconv.Itoa(given.Max) + ", the most."
		case given.Default != "":
			p.Doc += " Default: " + given.Default + "."
		}
		one.Query = append(one.Query, p)
	}
	if len(one.Query) > 0 {
		one.Params = goCase(words) + "Params"
	}
	if route.Paged() {
		data = data.Items
	}
	if data != nil {
		one.Type = c.typeOf(data, c.components)
	}
	c.model.Calls = append(c.model.Calls, one)
	if !slices.Contains(c.model.Buckets, one.Bucket) {
		c.model.Buckets = append(c.model.Buckets, one.Bucket)
	}
}

func (c *collector) paramType(one param.Param) string {
	switch one.Kind {
	case param.Integer:
		if one.Max > math.MaxInt32 {
			return c.long
		}
		return c.integer
	case param.Boolean:
		return c.boolean
	case param.ProposalKey:
		return "ProposalKey"
	case param.TopicKey:
		return "TopicKey"
	case param.Enum, param.EnumList:
	default:
		return c.text
	}
	name := one.Set.Name()
	if component, known := c.components.Get(name); known && len(component.Enum) > 0 {
		c.used[name] = true
	} else if !slices.ContainsFunc(c.model.Enums, func(e enum) bool { return e.Name == name }) {
		c.model.Enums = append(c.model.Enums, enum{name, one.Description, one.Enum})
	}
	if one.Kind == param.EnumList {
		return c.sequence(name)
	}
	return name
}
