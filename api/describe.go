package api

import (
	"reflect"

	"pnyx/api/doc/openapi"
	"pnyx/governance"
)

// exampleTime is the time in examples.
const exampleTime = "2026-01-31T12:00:00.000Z"

// Patterns of texts. A decimal has no exponent, sign or superfluous zeros, so that
// equal numbers are equal texts.
const (
	patternDecimal     = `^(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$`
	patternTimestamp   = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$`
	patternProposalKey = `^p1_[A-Za-z0-9_-]{22}$`
	patternTopicKey    = `^t1_[A-Za-z0-9_-]{22}$`
	patternMonth       = `^[0-9]{4}-(0[1-9]|1[0-2])$`
)

// scalars are the texts with a form of their own.
func scalars() map[reflect.Type]*openapi.Schema {
	return map[reflect.Type]*openapi.Schema{
		reflect.TypeFor[governance.Decimal](): {
			Type: "string", Format: "decimal", Pattern: patternDecimal, Examples: []any{"1234.5"},
			Description: "A number as text, exact to the last digit: no exponent, no sign, no superfluous zeros. Voting power has up to 18 decimal places.",
		},
		reflect.TypeFor[governance.Timestamp](): {
			Type: "string", Format: "date-time", Pattern: patternTimestamp, Examples: []any{exampleTime},
			Description: "A moment as ISO 8601 in UTC with milliseconds.",
		},
		reflect.TypeFor[governance.ProposalKey](): {
			Type: "string", Pattern: patternProposalKey, Examples: []any{"p1_f_XfJz_6yGy1gCgoSU2qbg"},
			Description: "The name of a proposal: p1_ and 22 base64url characters, the same after every import. Take it from lists; it cannot be made up.",
		},
		reflect.TypeFor[governance.TopicKey](): {
			Type: "string", Pattern: patternTopicKey, Examples: []any{"t1_QTih_6Tc8DCYv4aSbi5x1Q"},
			Description: "The name of a forum topic: t1_ and 22 base64url characters, the same after every import. Take it from lists; it cannot be made up.",
		},
		reflect.TypeFor[Code](): {
			Type: "string", Enum: codeTexts(), Examples: []any{string(CodeValidation)},
			Description: "The machine-readable name of an error.",
		},
	}
}

func codeTexts() []string {
	var codes []string
	for _, info := range Codes() {
		codes = append(codes, string(info.Code))
	}
	return codes
}

// newSchemas makes schemas of what answers hold.
func newSchemas() (*openapi.Schemas, error) {
	return openapi.NewSchemas(scalars(), fields(), governance.Sources, sources)
}

// envelopeSchema is the schema of an answer with data.
func envelopeSchema(schemas *openapi.Schemas, route Route) *openapi.Schema {
	described := "Meta"
	if route.Paged() {
		described = "ListMeta"
	}
	data := &openapi.Schema{}
	if route.Returns != nil {
		data = schemas.Of(reflect.TypeOf(route.Returns))
	}
	data.Description = route.Summary
	return &openapi.Schema{
		Type: "object", Required: []string{"data", "meta"}, AdditionalProperties: new(bool),
		Properties: openapi.Members[*openapi.Schema]{
			{Name: "data", Value: data},
			{Name: "meta", Value: openapi.RefTo(described)},
		},
	}
}

// metaSchemas tells the meta of a list from that of anything else: one has a page,
// the other has none.
func metaSchemas(components openapi.Members[*openapi.Schema]) openapi.Members[*openapi.Schema] {
	var all openapi.Members[*openapi.Schema]
	for _, component := range components {
		if component.Name != "Meta" {
			all = append(all, component)
			continue
		}
		list, single := *component.Value, *component.Value
		list.Description = "What an answer with one page of a list is."
		list.Required = append(append([]string{}, list.Required...), "page")
		list.Properties, single.Properties = nil, nil
		for _, property := range component.Value.Properties {
			if property.Name == "page" {
				page := openapi.RefTo("Page")
				page.Description = property.Value.Description
				list.Properties.Add(property.Name, page)
				continue
			}
			list.Properties = append(list.Properties, property)
			single.Properties = append(single.Properties, property)
		}
		all.Add("Meta", &single)
		all.Add("ListMeta", &list)
	}
	return all
}
