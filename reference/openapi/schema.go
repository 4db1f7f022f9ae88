package openapi

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// Schema is a JSON Schema (2020-12), or a reference to one with a description; fields are its keywords.
type Schema struct {
	Ref                  string           `json:"$ref,omitempty"`
	Type                 any              `json:"type,omitempty"`
	Description          string           `json:"description,omitempty"`
	Format               string           `json:"format,omitempty"`
	Pattern              string           `json:"pattern,omitempty"`
	Enum                 []string         `json:"enum,omitempty"`
	Default              any              `json:"default,omitempty"`
	Minimum              *int             `json:"minimum,omitempty"`
	Maximum              *int             `json:"maximum,omitempty"`
	MinLength            *int             `json:"minLength,omitempty"`
	MaxLength            *int             `json:"maxLength,omitempty"`
	MinItems             *int             `json:"minItems,omitempty"`
	AnyOf                []*Schema        `json:"anyOf,omitempty"`
	Items                *Schema          `json:"items,omitempty"`
	Properties           Members[*Schema] `json:"properties,omitempty"`
	Required             []string         `json:"required,omitempty"`
	AdditionalProperties *bool            `json:"additionalProperties,omitempty"`
	Examples             []any            `json:"examples,omitempty"`
	// XAddition marks a field that the contract does not have.
	XAddition bool `json:"x-addition,omitempty"`
}

// Field describes the fields of one name, in all types or in one of them.
type Field struct {
	Description string `json:"description"`
	// Example is a value of the field as JSON shows it; nil for one made from its type.
	Example any `json:"example"`
	// Raw is the schema of a field that holds any JSON (json.RawMessage or any).
	Raw *Schema `json:"schema"`
}

// Descriptions holds what Go types do not say.
type Descriptions struct {
	// Types describes structs and enumerations, by component name.
	Types map[string]string `json:"types"`
	// Fields describes fields by their JSON name or, which wins, a component's field as in "Choice.key".
	Fields map[string]Field `json:"fields"`
	// Additions lists the fields that the contract does not have, each with its component's name before it.
	Additions []string `json:"additions"`
}

// Schemas makes the schemas of Go types, components for named ones. It is not safe for concurrent use.
type Schemas struct {
	Scalars map[reflect.Type]*Schema
	// Enums lists the values of text types that have no others.
	Enums map[reflect.Type][]string
	// Names are the component names of types whose Go name says too little outside Go.
	Names map[reflect.Type]string
	// Contents are the types of fields that hold encoded JSON, or lists that may be null, by component and JSON name.
	Contents     map[string]reflect.Type
	Descriptions Descriptions

	components Members[*Schema]
	seen       map[reflect.Type]string
}

// Components returns the schemas of all types met so far.
func (s *Schemas) Components() Members[*Schema] { return s.components }

// RefTo is a reference to a component.
func RefTo(component string) *Schema { return &Schema{Ref: componentPrefix + component} }

const componentPrefix = "#/components/schemas/"

// Component returns the component that the schema refers to; empty for a schema in place.
func (s *Schema) Component() string { return strings.TrimPrefix(s.Ref, componentPrefix) }

// Of returns the schema of a type; a pointer may be null.
func (s *Schemas) Of(t reflect.Type) *Schema {
	if t == reflect.TypeFor[json.RawMessage]() {
		return &Schema{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return orNull(s.Of(t.Elem()))
	case reflect.Slice:
		return &Schema{Type: "array", Items: s.Of(t.Elem())}
	case reflect.Map:
		return &Schema{Type: "object"}
	case reflect.Interface:
		return &Schema{}
	case reflect.Struct:
		return s.component(t, s.object)
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.String:
		if s.Scalars[t] != nil || len(s.Enums[t]) > 0 {
			return s.component(t, s.text)
		}
		return &Schema{Type: "string"}
	case reflect.Int64:
		if s.Scalars[t] != nil {
			return s.component(t, s.text)
		}
	default:
	}
	return &Schema{Type: "integer", Minimum: new(int)}
}

func orNull(schema *Schema) *Schema {
	if name, plain := schema.Type.(string); plain && schema.Ref == "" {
		schema.Type = []string{name, "null"}
		return schema
	}
	return &Schema{AnyOf: []*Schema{schema, {Type: "null"}}}
}

// component adds the schema of a type once, and returns a reference to it.
func (s *Schemas) component(t reflect.Type, schemaOf func(reflect.Type) *Schema) *Schema {
	name, known := s.seen[t]
	if !known {
		name = s.componentName(t)
		if s.seen == nil {
			s.seen = map[reflect.Type]string{}
		}
		s.seen[t] = name
		s.components.Add(name, nil) // holds the place: those inside come after it
		place := len(s.components) - 1
		s.components[place].Value = schemaOf(t)
	}
	return RefTo(name)
}

// componentName returns a type's name in Names, or its Go name, capitalized.
func (s *Schemas) componentName(t reflect.Type) string {
	if name := s.Names[t]; name != "" {
		return name
	}
	runes := []rune(t.Name())
	runes[0] = unicode.ToUpper(runes[0])
	return string(runes)
}

func (s *Schemas) text(t reflect.Type) *Schema {
	schema := Schema{Type: "string", Enum: s.Enums[t]}
	if scalar := s.Scalars[t]; scalar != nil {
		schema = *scalar
	}
	schema.Description = cmp.Or(schema.Description, s.Descriptions.Types[s.componentName(t)])
	return &schema
}

func (s *Schemas) object(t reflect.Type) *Schema {
	object := &Schema{Type: "object", Description: s.Descriptions.Types[s.componentName(t)]}
	for _, field := range members(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		schema, described := s.Of(s.content(t, name, field.Type)), s.field(t, name)
		if described.Raw != nil && (field.Type == reflect.TypeFor[json.RawMessage]() || field.Type.Kind() == reflect.Interface) {
			schema = new(*described.Raw)
		}
		schema.Description = described.Description
		schema.XAddition = slices.Contains(s.Descriptions.Additions, s.componentName(t)+"."+name)
		object.Properties.Add(name, schema)
		if !strings.Contains(options, "omitempty") {
			object.Required = append(object.Required, name)
		}
	}
	return object
}

func (s *Schemas) content(t reflect.Type, name string, own reflect.Type) reflect.Type {
	if of, typed := s.Contents[s.componentName(t)+"."+name]; typed {
		return of
	}
	return own
}

// members returns the fields that are members of an object: the fields of an embedded struct in its place.
func members(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(field reflect.StructField) bool { return field.Anonymous })
}

func (s *Schemas) field(t reflect.Type, name string) Field {
	key := s.componentName(t) + "." + name
	if _, own := s.Descriptions.Fields[key]; !own {
		key = name
	}
	return s.Descriptions.Fields[key]
}

// Example returns a value as JSON shows it: fields have their examples, lists one element, and nothing is null.
func (s *Schemas) Example(t reflect.Type) any {
	if t == reflect.TypeFor[json.RawMessage]() {
		return map[string]any{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.Example(t.Elem())
	case reflect.Slice:
		return []any{s.Example(t.Elem())}
	case reflect.Struct:
		return s.exampleObject(t)
	case reflect.Map, reflect.Interface:
		return map[string]any{}
	case reflect.Bool:
		return true
	case reflect.String, reflect.Int64:
		return s.exampleText(t)
	default:
		return 1
	}
}

func (s *Schemas) exampleText(t reflect.Type) any {
	if scalar := s.Scalars[t]; scalar != nil && len(scalar.Examples) > 0 {
		return scalar.Examples[0]
	}
	if values := s.Enums[t]; len(values) > 0 {
		return values[0]
	}
	if t.Kind() == reflect.Int64 {
		return 1
	}
	return "text"
}

func (s *Schemas) exampleObject(t reflect.Type) any {
	object := Members[any]{}
	for _, field := range members(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		value := s.field(t, name).Example
		if list := field.Type; value == nil && list.Kind() == reflect.Slice && list.Elem() == t {
			value = []any{} // of itself
		}
		if value == nil || !s.possible(field.Type, value) {
			value = s.exampleContent(t, name, field.Type)
		}
		object.Add(name, value)
	}
	return object
}

// exampleContent returns a value of what a field holds: null for encoded JSON that may be, which its schema describes.
func (s *Schemas) exampleContent(t reflect.Type, name string, own reflect.Type) any {
	of := s.content(t, name, own)
	if of != own && own == reflect.TypeFor[json.RawMessage]() && of.Kind() == reflect.Pointer {
		return nil
	}
	return s.Example(of)
}

// possible reports whether a field can have a value: fields of one name share an example, maybe of other types.
func (s *Schemas) possible(t reflect.Type, value any) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	text, is := value.(string)
	if is != (t.Kind() == reflect.String) {
		return !is && t.Kind() != reflect.Struct
	}
	values := s.Enums[t]
	return len(values) == 0 || slices.Contains(values, text)
}
