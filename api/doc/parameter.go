package doc

import (
	"strconv"
	"strings"

	"pnyx/api/doc/openapi"
	"pnyx/api/param"
)

// describeParam describes a parameter.
func describeParam(schemas *openapi.Schemas, one param.Param) *openapi.Parameter {
	described := &openapi.Parameter{
		Name: one.Name, In: "query", Required: one.Required || one.In == param.InPath,
		Description: one.Description + " Allowed: " + strings.TrimSuffix(one.Allowed(), ", joined by commas") + ".",
		Schema:      paramSchema(schemas, one),
	}
	if one.In == param.InPath {
		described.In = "path"
	}
	if one.Kind == param.EnumList {
		described.Style, described.Explode = "form", new(bool)
	}
	switch {
	case one.Example == "":
	case described.Required:
		described.Example = paramExample(one)
	default:
		// Tools fill in an example of the parameter, but not one of its schema: optional
		// parameters stay empty.
		described.Schema.Examples = []any{paramExample(one)}
	}
	return described
}

// paramExample returns the example in the type of the schema.
func paramExample(one param.Param) any {
	switch one.Kind {
	case param.EnumList:
		return strings.Split(one.Example, ",")
	case param.Boolean:
		return one.Example == "true"
	case param.Integer:
		if number, err := strconv.Atoi(one.Example); err == nil {
			return number
		}
	default:
	}
	return one.Example
}

// paramSchema returns the schema of a parameter.
func paramSchema(schemas *openapi.Schemas, one param.Param) *openapi.Schema {
	one, longest := 1, param.MaxTextBytes
	schema := &openapi.Schema{Type: "string"}
	switch one.Kind {
	case param.Integer:
		schema = &openapi.Schema{Type: "integer", Minimum: &one.Min, Maximum: &one.Max}
		if number, err := strconv.Atoi(one.Default); err == nil {
			schema.Default = number
		}
		return schema
	case param.Boolean:
		schema.Type = "boolean"
	case param.Enum:
		schema = setSchema(schemas, one)
	case param.EnumList:
		return &openapi.Schema{Type: "array", Items: setSchema(schemas, one), MinItems: &one}
	case param.ProposalKey:
		schema.Pattern = patternProposalKey
	case param.TopicKey:
		schema.Pattern = patternTopicKey
	case param.Month:
		schema.Pattern = patternMonth
	case param.Instant:
		// The format date-time would exclude dates, which are allowed.
		schema.MinLength = &one
	case param.Cursor:
		longest = param.MaxCursorBytes
		schema.MinLength, schema.MaxLength = &one, &longest
	case param.Text, param.Voter:
		schema.MinLength, schema.MaxLength = &one, &longest
	}
	if one.Default != "" {
		schema.Default = one.Default
	}
	return schema
}

// setSchema returns the schema of one value of an enumeration: the schema of answers, where they
// have values of the same set.
func setSchema(schemas *openapi.Schemas, one param.Param) *openapi.Schema {
	if len(schemas.Enums[one.Set]) > 0 {
		return schemas.Of(one.Set)
	}
	return &openapi.Schema{Type: "string", Enum: one.Enum}
}
