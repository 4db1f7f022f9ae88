package client

import (
	"strings"
	"unicode"

	"pnyx/reference/openapi"
)

type dialect struct {
	// text, integer, boolean, object and anything are the types of JSON; long is the type of an integer
	// which 32 bits do not hold, object one whose members are not described.
	text, integer, long, boolean, object, anything string
	// list and sequence return the type of a list in an answer and in a parameter, orNull
	// one that allows null.
	list, sequence, orNull func(of string) string
	// open returns the type of an enumeration in an answer, where a later version of the
	// API may have further values.
	open             func(enum string) string
	field, parameter func(name string) string
	method           func(words []string) string
}

func dialectOf(language Language) dialect {
	return map[Language]func() dialect{TypeScript: typeScript, Python: python, Go: golang}[language]()
}

// typeOf returns the type of a value that a schema describes. components are those that it
// may refer to.
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

// valueWords returns the words of a value of an enumeration, such as createdAt,
// votes_cast or NOT_FOUND.
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
