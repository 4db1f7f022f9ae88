package api

import (
	"strconv"
	"strings"

	"pnyx/api/doc/openapi"
)

// describeParam is a parameter as OpenAPI says it.
func describeParam(param Param) *openapi.Parameter {
	described := &openapi.Parameter{
		Name: param.Name, In: "query", Required: param.Required || param.In == InPath,
		Description: param.Description + " Allowed: " + param.allowed() + ".",
		Schema:      paramSchema(param),
	}
	if param.In == InPath {
		described.In = "path"
	}
	if param.Kind == EnumList {
		described.Style, described.Explode = "form", new(bool)
	}
	switch {
	case param.Example == "":
	case described.Required:
		described.Example = paramExample(param)
	default:
		// What may be left out is not filled in by those who try a route.
		described.Schema.Examples = []any{paramExample(param)}
	}
	return described
}

// paramExample is the example in the type that the schema has.
func paramExample(param Param) any {
	switch param.Kind {
	case EnumList:
		return strings.Split(param.Example, ",")
	case Boolean:
		return param.Example == "true"
	case Integer:
		if number, err := strconv.Atoi(param.Example); err == nil {
			return number
		}
	default:
	}
	return param.Example
}

// paramSchema is what a parameter may be.
func paramSchema(param Param) *openapi.Schema {
	one, longest := 1, maxTextBytes
	schema := &openapi.Schema{Type: "string"}
	switch param.Kind {
	case Integer:
		schema = &openapi.Schema{Type: "integer", Minimum: &param.Min, Maximum: &param.Max}
		if number, err := strconv.Atoi(param.Default); err == nil {
			schema.Default = number
		}
		return schema
	case Boolean:
		schema.Type = "boolean"
	case Enum:
		schema.Enum = param.Enum
	case EnumList:
		return &openapi.Schema{Type: "array", Items: &openapi.Schema{Type: "string", Enum: param.Enum}, MinItems: &one}
	case ProposalKey:
		schema.Pattern = patternProposalKey
	case TopicKey:
		schema.Pattern = patternTopicKey
	case Month:
		schema.Pattern = patternMonth
	case Instant:
		// A date alone is a time as well, which the format date-time is not.
		schema.MinLength = &one
	case Text, Cursor, Voter:
		schema.MinLength, schema.MaxLength = &one, &longest
	}
	if param.Default != "" {
		schema.Default = param.Default
	}
	return schema
}
