package client

import (
	"strings"
	"unicode"

	"pnyx/reference/openapi"
)

type dialect struct {
	// text, integer, boolean, object and anything are types of JSON; long is for integers beyond 32 bits.
	text, integer, long, boolean, object, anything string
	// list and sequence return a list's type in answers and parameters, orNull one that allows null.
	list, sequence, orNull func(of string) string
	// open returns the type of an enumeration in answers, to which a later version may add values.
	open             func(enum string) string
	field, parameter func(name string) string
	method           func(words []string) string
}

func dialectOf(language Language) dialect {
	return map[Language]func() dialect{TypeScript: typeScript, Python: python, Go: golang}[language]()
}

// typeOf returns the type of what a schema describes, which may refer to components.
func (d dialect) typeOf(schema *openapi.Schema, components openapi.Members[*openapi.Schema]) string {
	if name := schema.Component(); name != "" {
		if component, _ := components.Get(name); component != nil && len(component.Enum) > 0 {
			return d.open(name)
		}
		return name
	}
	switch kind := schema.Type.(type) {
	case []string:
		plain := *schema
		plain.Type = kind[0]
		return d.orNull(d.typeOf(&plain, components))
	case string:
		return d.jsonType(kind, schema, components)
	}
	if len(schema.AnyOf) > 0 {
		return d.orNull(d.typeOf(schema.AnyOf[0], components))
	}
	return d.anything
}

func (d dialect) jsonType(kind string, schema *openapi.Schema, components openapi.Members[*openapi.Schema]) string {
	switch kind {
	case "string":
		return d.text
	case "integer":
		return d.integer
	case "boolean":
		return d.boolean
	case "array":
		return d.list(d.typeOf(schema.Items, components))
	}
	return d.object
}

// valueWords returns the words of an enumeration's value, such as createdAt, votes_cast or NOT_FOUND.
func valueWords(value string) []string {
	var words []string
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if strings.ToUpper(part) == part {
			part = strings.ToLower(part)
		}
		words = append(words, wordsOf(part)...)
	}
	return words
}
