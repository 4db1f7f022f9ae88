package openapi

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"unicode"
)

// Schema is a JSON Schema (2020-12), or a reference to one with what is said of it
// in its place.
type Schema struct {
	Ref                  string           `json:"$ref,omitempty"`
	Type                 any              `json:"type,omitempty"` // a name, or a list of names
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
	UniqueItems          bool             `json:"uniqueItems,omitempty"`
	AllOf                []*Schema        `json:"allOf,omitempty"`
	AnyOf                []*Schema        `json:"anyOf,omitempty"`
	Items                *Schema          `json:"items,omitempty"`
	Properties           Members[*Schema] `json:"properties,omitempty"`
	Required             []string         `json:"required,omitempty"`
	AdditionalProperties *bool            `json:"additionalProperties,omitempty"`
	Examples             []any            `json:"examples,omitempty"`
}

// Field is what is said of every field with a name, where its own comment says
// nothing.
type Field struct {
	Description string
	Example     any
	// Raw is what a field may be that is kept as JSON.
	Raw *Schema
}

// Schemas makes the schemas of Go types. Structs, and texts of which all values
// are known, become components that are referred to.
type Schemas struct {
	components Members[*Schema]
	seen       map[reflect.Type]string
	scalars    map[reflect.Type]*Schema
	fields     map[string]Field
	comments   comments
}

// NewSchemas reads what sources say of the types. Scalars are types with a schema
// that cannot be told from the type; a key of fields is a field's public name, or
// with its type before it: "Choice.key".
func NewSchemas(scalars map[reflect.Type]*Schema, fields map[string]Field, sources ...fs.FS) (*Schemas, error) {
	s := &Schemas{
		seen: map[reflect.Type]string{}, scalars: scalars, fields: fields,
		comments: comments{types: map[string]string{}, fields: map[string]string{}, enums: map[string][]string{}},
	}
	for _, files := range sources {
		if err := s.comments.readComments(files); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Components returns the schemas of all types met so far.
func (s *Schemas) Components() Members[*Schema] { return s.components }

// RefTo is a reference to a component.
func RefTo(component string) *Schema { return &Schema{Ref: "#/components/schemas/" + component} }

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
		if s.scalars[t] != nil || len(s.comments.enums[t.Name()]) > 0 {
			return s.component(t, s.text)
		}
		return &Schema{Type: "string"}
	case reflect.Int64:
		if s.scalars[t] != nil {
			return s.component(t, s.text)
		}
	default:
	}
	return &Schema{Type: "integer", Minimum: new(int)}
}

// orNull allows null beside what a schema allows.
func orNull(schema *Schema) *Schema {
	if name, plain := schema.Type.(string); plain && schema.Ref == "" {
		schema.Type = []string{name, "null"}
		return schema
	}
	return &Schema{AnyOf: []*Schema{schema, {Type: "null"}}}
}

// component makes the schema of a type once, and refers to it.
func (s *Schemas) component(t reflect.Type, schemaOf func(reflect.Type) *Schema) *Schema {
	name, known := s.seen[t]
	if !known {
		name = componentName(t)
		s.seen[t] = name
		s.components.Add(name, nil) // holds the place: those inside come after it
		place := len(s.components) - 1
		s.components[place].Value = schemaOf(t)
	}
	return RefTo(name)
}

func componentName(t reflect.Type) string {
	runes := []rune(t.Name())
	runes[0] = unicode.ToUpper(runes[0])
	return string(runes)
}

func (s *Schemas) text(t reflect.Type) *Schema {
	schema := Schema{Type: "string", Enum: s.comments.enums[t.Name()]}
	if scalar := s.scalars[t]; scalar != nil {
		schema = *scalar
	}
	if schema.Description == "" {
		schema.Description = s.comments.types[t.Name()]
	}
	return &schema
}

func (s *Schemas) object(t reflect.Type) *Schema {
	object := &Schema{Type: "object", Description: s.comments.types[t.Name()], AdditionalProperties: new(bool)}
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		schema := s.Of(field.Type)
		if raw := s.field(t, name).Raw; raw != nil && field.Type == reflect.TypeFor[json.RawMessage]() {
			kept := *raw
			schema = &kept
		}
		schema.Description = s.describe(t, field, name)
		object.Properties.Add(name, schema)
		if !strings.Contains(options, "omitempty") {
			object.Required = append(object.Required, name)
		}
	}
	return object
}

func (s *Schemas) describe(t reflect.Type, field reflect.StructField, name string) string {
	if text := s.comments.fields[t.Name()+"."+field.Name]; text != "" {
		return text
	}
	return s.field(t, name).Description
}

func (s *Schemas) field(t reflect.Type, name string) Field {
	if field, own := s.fields[componentName(t)+"."+name]; own {
		return field
	}
	return s.fields[name]
}

// Undescribed lists what of the schemas made so far nobody has described.
func (s *Schemas) Undescribed() []string {
	var missing []string
	for _, component := range s.components {
		if component.Value.Description == "" {
			missing = append(missing, component.Name)
		}
		for _, property := range component.Value.Properties {
			if property.Value.Description == "" {
				missing = append(missing, fmt.Sprintf("%s.%s", component.Name, property.Name))
			}
		}
	}
	return missing
}
