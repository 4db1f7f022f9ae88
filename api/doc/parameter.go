package doc

import (
	"strconv"
	"strings"

	"pnyx/api"
	"pnyx/api/doc/openapi"
)

// describeParam describes a parameter.
func describeParam(schemas *openapi.Schemas, param api.Param) *openapi.Parameter {
	described := &openapi.Parameter{
		Name: param.Name, In: "query", Required: param.Required || param.In == api.InPath,
		Description: param.Description + " Allowed: " + strings.TrimSuffix(param.Allowed(), ", joined by commas") + ".",
		Schema:      paramSchema(schemas, param),
	}
	if param.In == api.InPath {
		described.In = "path"
	}
	if param.Kind == api.EnumList {
		described.Style, described.Explode = "form", new(bool)
	}
	switch {
	case param.Example == "":
	case described.Required:
		described.Example = paramExample(param)
	default:
		// Tools fill in an example of the parameter, but not one of its schema: optional
		// parameters stay empty.
		described.Schema.Examples = []any{paramExample(param)}
	}
	return described
}

// paramExample returns the example in the type of the schema.
func paramExample(param api.Param) any {
	switch param.Kind {
	case api.EnumList:
		return strings.Split(param.Example, ",")
	case api.Boolean:
		return param.Example == "true"
	case api.Integer:
		if number, err := strconv.Atoi(param.Example); err == nil {
			return number
		}
	default:
	}
	return param.Example
}

// paramSchema returns the schema of a parameter.
func paramSchema(schemas *openapi.Schemas, param api.Param) *openapi.Schema {
	one, longest := 1, api.MaxTextBytes
	schema := &openapi.Schema{Type: "string"}
	switch param.Kind {
	case api.Integer:
		schema = &openapi.Schema{Type: "integer", Minimum: &param.Min, Maximum: &param.Max}
		if number, err := strconv.Atoi(param.Default); err == nil {
			schema.Default = number
		}
		return schema
	case api.Boolean:
		schema.Type = "boolean"
	case api.Enum:
		schema = setSchema(schemas, param)
	case api.EnumList:
		return &openapi.Schema{Type: "array", Items: setSchema(schemas, param), MinItems: &one}
	case api.ProposalKey:
		schema.Pattern = patternProposalKey
	case api.TopicKey:
		schema.Pattern = patternTopicKey
	case api.Month:
		schema.Pattern = patternMonth
	case api.Instant:
		// The format date-time would exclude dates, which are allowed.
		schema.MinLength = &one
	case api.Cursor:
		longest = api.MaxCursorBytes
		schema.MinLength, schema.MaxLength = &one, &longest
	case api.Text, api.Voter:
		schema.MinLength, schema.MaxLength = &one, &longest
	}
	if param.Default != "" {
		schema.Default = param.Default
	}
	return schema
}

// setSchema returns the schema of one value of an enumeration: the schema of answers, where they
// have values of the same set.
func setSchema(schemas *openapi.Schemas, param api.Param) *openapi.Schema {
	if len(schemas.Enums[param.Set]) > 0 {
		return schemas.Of(param.Set)
	}
	return &openapi.Schema{Type: "string", Enum: param.Enum}
}
