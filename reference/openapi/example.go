package openapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

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
