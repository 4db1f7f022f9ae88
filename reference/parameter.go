package reference

import (
	"strings"

	"pnyx/api/param"
	"pnyx/reference/openapi"
)

func describeParam(schemas *openapi.Schemas, given param.Param) *openapi.Parameter {
	described := &openapi.Parameter{
		Name: given.Name, In: "query", Required: given.Required || given.In == param.InPath,
		Description: given.Description + " Allowed: " + strings.TrimSuffix(given.Allowed(), ", joined by commas") + ".",
		Schema:      paramSchema(schemas, given), XAddition: given.Addition,
	}
	if given.In == param.InPath {
		described.In = "path"
	}
	if given.Kind == param.EnumList {
		described.Style, described.Explode = "form", new(bool)
	}
	switch {
	case given.Example == "":
	case described.Required:
		described.Example = given.JSON(given.Example)
	default:
		// Tools fill in an example of the parameter, but not one of its schema: optional
		// parameters stay empty.
		described.Schema.Examples = []any{given.JSON(given.Example)}
	}
	return described
}

func paramSchema(schemas *openapi.Schemas, given param.Param) *openapi.Schema {
	one, longest := 1, param.MaxTextBytes
	schema := &openapi.Schema{Type: "string"}
	switch given.Kind {
	case param.Integer:
		schema = &openapi.Schema{Type: "integer", Minimum: &given.Min, Maximum: &given.Max}
	case param.Boolean:
		schema.Type = "boolean"
	case param.Enum:
		schema = setSchema(schemas, given)
	case param.EnumList:
		return &openapi.Schema{Type: "array", Items: setSchema(schemas, given), MinItems: &one}
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
	if given.Default != "" {
		schema.Default = given.JSON(given.Default)
	}
	return schema
}

// setSchema returns the schema of one value of an enumeration: the schema of answers, where they
// have values of the same set.
func setSchema(schemas *openapi.Schemas, given param.Param) *openapi.Schema {
	if len(schemas.Enums[given.Set]) > 0 {
		return schemas.Of(given.Set)
	}
	return &openapi.Schema{Type: "string", Enum: given.Enum}
}
